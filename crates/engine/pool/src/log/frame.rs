//! Frames of the log: the content of one log write.
//!
//! A frame is a 128-byte header, whole records, and zeros up to the next 4 KiB. It has its position
//! and the CRC of the previous frame, so that a frame left over from an earlier lap or an earlier
//! run is never taken for one of this chain. Frames do not wrap: one that does not fit before the
//! end of the ring starts at the next lap.

use crate::checksum::Crc64;
use media::{BLOCK_BYTES, Buffer};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// First bytes of a frame: "WLframe1".
const FRAME_MAGIC: u64 = 0x3165_6d61_7266_4c57;

/// Header of a frame. 128 bytes.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct FrameHeader {
    magic: U64,
    /// CRC-64/NVME of `bytes` bytes of the frame with this field zero.
    crc: U64,
    uuid: [u8; 16],
    /// Random number of the run that wrote the frame.
    incarnation: U64,
    /// Position in the log, which only grows; its place in the ring is the position modulo the
    /// ring's size.
    position: U64,
    first_sequence: U64,
    /// Every record below this number was durable when the frame was written.
    durable_sequence: U64,
    previous_crc: U64,
    /// Bytes in use, header included.
    bytes: U32,
    records: U32,
    epoch: U64,
    reserved: [u8; 40],
}

const _: () = assert!(size_of::<FrameHeader>() == FRAME_HEADER_BYTES);

/// Offsets as in docs/on-disk-format.md.
const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(FrameHeader, magic) == 0);
    assert!(offset_of!(FrameHeader, crc) == 8);
    assert!(offset_of!(FrameHeader, uuid) == 16);
    assert!(offset_of!(FrameHeader, incarnation) == 32);
    assert!(offset_of!(FrameHeader, position) == 40);
    assert!(offset_of!(FrameHeader, first_sequence) == 48);
    assert!(offset_of!(FrameHeader, durable_sequence) == 56);
    assert!(offset_of!(FrameHeader, previous_crc) == 64);
    assert!(offset_of!(FrameHeader, bytes) == 72);
    assert!(offset_of!(FrameHeader, records) == 76);
    assert!(offset_of!(FrameHeader, epoch) == 80);
    assert!(offset_of!(FrameHeader, reserved) == 88);
};

/// Length of a frame header in bytes.
pub const FRAME_HEADER_BYTES: usize = 128;

/// Variable fields of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameInfo {
    /// Random number of the run that wrote it.
    pub incarnation: u64,
    /// Position in the log.
    pub position: u64,
    /// Number of its first record.
    pub first_sequence: u64,
    /// Every record below this number was durable when the frame was written.
    pub durable_sequence: u64,
    /// CRC of the previous frame.
    pub previous_crc: Crc64,
    /// Number of bytes in use.
    pub bytes: u32,
    /// Number of records.
    pub records: u32,
    /// Epoch in which it was written.
    pub epoch: u64,
}

/// Completes the frame in `frame` (space for the header, then records, `info.bytes` in all) and
/// returns its CRC.
pub fn seal(frame: &mut [u8], uuid: &[u8; 16], info: &FrameInfo) -> Crc64 {
    let mut header = FrameHeader {
        magic: U64::new(FRAME_MAGIC),
        crc: U64::new(0),
        uuid: *uuid,
        incarnation: U64::new(info.incarnation),
        position: U64::new(info.position),
        first_sequence: U64::new(info.first_sequence),
        durable_sequence: U64::new(info.durable_sequence),
        previous_crc: U64::new(info.previous_crc.get()),
        bytes: U32::new(info.bytes),
        records: U32::new(info.records),
        epoch: U64::new(info.epoch),
        reserved: [0; 40],
    };
    frame[..FRAME_HEADER_BYTES].copy_from_slice(header.as_bytes());
    let crc = Crc64::of(&frame[..info.bytes as usize]);
    header.crc = U64::new(crc.get());
    frame[..FRAME_HEADER_BYTES].copy_from_slice(header.as_bytes());
    crc
}

/// Frame under construction, in the memory that goes to the medium.
#[derive(Default)]
pub struct FrameBuffer {
    blocks: Buffer,
    length: usize,
}

impl FrameBuffer {
    /// Starts a frame with space for its header. The old content of `memory` is irrelevant.
    pub fn new(memory: Buffer) -> Self {
        let mut frame = Self { blocks: memory, length: 0 };
        frame.extend_from_slice(&[0; FRAME_HEADER_BYTES]);
        frame
    }

    /// Appends bytes.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        if end > self.blocks.len() {
            self.grow(end);
        }
        self.blocks[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }

    #[cold]
    fn grow(&mut self, end: usize) {
        self.blocks.resize(end.div_ceil(BLOCK_BYTES));
    }

    /// Appends one byte.
    pub fn push(&mut self, byte: u8) {
        self.extend_from_slice(&[byte]);
    }

    /// Returns the frame as whole blocks, padded with zeros.
    pub fn into_buffer(mut self) -> Buffer {
        self.blocks.resize(self.length.div_ceil(BLOCK_BYTES));
        self.blocks[self.length..].fill(0);
        self.blocks
    }
}

impl std::ops::Deref for FrameBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.blocks[..self.length]
    }
}

impl std::ops::DerefMut for FrameBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.blocks[..self.length]
    }
}

/// Reads a header without checking the CRC, to learn how much to read. `None` if it is not a frame
/// of this pool.
pub fn peek(bytes: &[u8], uuid: &[u8; 16]) -> Option<FrameInfo> {
    let (header, _) = FrameHeader::read_from_prefix(bytes).ok()?;
    if header.magic.get() != FRAME_MAGIC || header.uuid != *uuid || (header.bytes.get() as usize) < FRAME_HEADER_BYTES {
        return None;
    }
    Some(FrameInfo {
        incarnation: header.incarnation.get(),
        position: header.position.get(),
        first_sequence: header.first_sequence.get(),
        durable_sequence: header.durable_sequence.get(),
        previous_crc: Crc64::new(header.previous_crc.get()),
        bytes: header.bytes.get(),
        records: header.records.get(),
        epoch: header.epoch.get(),
    })
}

/// Verifies a whole frame. Returns its fields and CRC, or `None` if it is torn, foreign or absent.
pub fn open(bytes: &[u8], uuid: &[u8; 16]) -> Option<(FrameInfo, Crc64)> {
    let info = peek(bytes, uuid)?;
    let frame = bytes.get(..info.bytes as usize)?;
    let (mut header, body) = FrameHeader::read_from_prefix(frame).ok()?;
    let stored = Crc64::new(header.crc.get());
    header.crc = U64::new(0);
    (Crc64::of_both(header.as_bytes(), body) == stored).then_some((info, stored))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_found_whole_or_not_at_all() {
        let uuid = [7; 16];
        let info = FrameInfo {
            incarnation: 1,
            position: 8192,
            first_sequence: 10,
            durable_sequence: 9,
            previous_crc: Crc64::new(3),
            bytes: 200,
            records: 1,
            epoch: 2,
        };
        let mut frame = vec![0u8; 4096];
        frame[150] = 9;
        let crc = seal(&mut frame, &uuid, &info);
        assert_eq!(open(&frame, &uuid), Some((info, crc)));
        assert_eq!(open(&frame, &[8; 16]), None);
        frame[199] ^= 1;
        assert_eq!(open(&frame, &uuid), None);
    }
}
