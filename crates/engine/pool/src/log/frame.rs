//! Frames of the log: what one log write carries.
//!
//! A frame is a 128-byte header, whole records, and zeros up to the next 4 KiB. It names its position and the CRC of the frame before
//! it, so that a frame left over from an earlier lap or an earlier run is never taken for one of this chain. Frames do not wrap: one
//! that does not fit before the end of the ring starts at the next lap.

use crate::checksum::crc64;
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
    /// A random number of the run that wrote the frame.
    incarnation: U64,
    /// Position in the log, ever growing; the place in the ring is this modulo the ring's size.
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

/// Fields stand where docs/on-disk-format.md says.
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

/// Bytes of a frame header.
pub const FRAME_HEADER_BYTES: usize = 128;

/// The fields of a frame that vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameInfo {
    /// Run that wrote it.
    pub incarnation: u64,
    /// Position in the log.
    pub position: u64,
    /// Number of its first record.
    pub first_sequence: u64,
    /// Records below this were durable when it was written.
    pub durable_sequence: u64,
    /// CRC of the frame before.
    pub previous_crc: u64,
    /// Bytes in use.
    pub bytes: u32,
    /// Number of records.
    pub records: u32,
    /// Epoch it was written in.
    pub epoch: u64,
}

/// Completes the frame in `frame` (header space first, then records, `info.bytes` in all) and returns its CRC.
pub fn seal(frame: &mut [u8], uuid: &[u8; 16], info: &FrameInfo) -> u64 {
    let mut header = FrameHeader {
        magic: U64::new(FRAME_MAGIC),
        crc: U64::new(0),
        uuid: *uuid,
        incarnation: U64::new(info.incarnation),
        position: U64::new(info.position),
        first_sequence: U64::new(info.first_sequence),
        durable_sequence: U64::new(info.durable_sequence),
        previous_crc: U64::new(info.previous_crc),
        bytes: U32::new(info.bytes),
        records: U32::new(info.records),
        epoch: U64::new(info.epoch),
        reserved: [0; 40],
    };
    frame[..FRAME_HEADER_BYTES].copy_from_slice(header.as_bytes());
    let crc = crc64(&frame[..info.bytes as usize]);
    header.crc = U64::new(crc);
    frame[..FRAME_HEADER_BYTES].copy_from_slice(header.as_bytes());
    crc
}

/// A frame being put together, in memory that goes to the medium as it is.
#[derive(Default)]
pub struct FrameBuffer {
    blocks: Buffer,
    length: usize,
}

impl FrameBuffer {
    /// Room for the header and nothing else yet. The content of `memory` does not matter.
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

    /// The whole blocks, zeros after the end.
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

/// Reads a header without checking the CRC: what is needed to know how much to read. `None` when it is no frame of this pool.
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
        previous_crc: header.previous_crc.get(),
        bytes: header.bytes.get(),
        records: header.records.get(),
        epoch: header.epoch.get(),
    })
}

/// Checks a whole frame. Returns its fields and CRC, or `None` when it is torn, foreign or absent.
pub fn open(bytes: &[u8], uuid: &[u8; 16]) -> Option<(FrameInfo, u64)> {
    let info = peek(bytes, uuid)?;
    let frame = bytes.get(..info.bytes as usize)?;
    let (mut header, body) = FrameHeader::read_from_prefix(frame).ok()?;
    let stored = header.crc.get();
    header.crc = U64::new(0);
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc64Nvme);
    digest.update(header.as_bytes());
    digest.update(body);
    (digest.finalize() == stored).then_some((info, stored))
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
            previous_crc: 3,
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
