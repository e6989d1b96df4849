//! Frames: a header of 32 bytes and a payload of at most 1 MiB.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | magic `WLr1` |
//! | 4 | 1 | type |
//! | 5 | 1 | flags: bit 0 packed by lz4, bit 1 packed by zstd; other bits are zero |
//! | 6 | 2 | channel |
//! | 8 | 4 | bytes of the payload |
//! | 12 | 4 | bytes of the payload unpacked |
//! | 16 | 8 | sequence: number of the frame in its direction of the connection |
//! | 24 | 4 | CRC-32C of the header without this field, and of the payload |
//! | 28 | 4 | reserved, zero |
//!
//! Numbers are little-endian. The CRC includes the header, so that no single error in it passes.

use crate::checksum::Crc32c;
use crate::wire::error::WireError;
use crate::wire::kind::Kind;
use bytes::{Bytes, BytesMut};
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a header.
pub const HEADER_BYTES: usize = 32;
/// Longest payload, in bytes.
pub const MAX_PAYLOAD_BYTES: usize = crate::wire::kind::MAX_PAYLOAD_BYTES as usize;
/// Magic of a frame.
const MAGIC: [u8; 4] = *b"WLr1";

/// Header of a frame. 32 bytes, little-endian.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Debug)]
#[repr(C)]
struct Header {
    magic: [u8; 4],
    kind: u8,
    flags: u8,
    channel: U16,
    payload_bytes: U32,
    unpacked_bytes: U32,
    sequence: U64,
    crc: U32,
    reserved: [u8; 4],
}
const _: () = assert!(size_of::<Header>() == HEADER_BYTES);

impl Header {
    /// CRC of the frame with this header and a payload.
    fn checksum(&self, payload: &[u8]) -> u32 {
        let bytes = Self { crc: U32::ZERO, ..*self };
        Crc32c::of_parts(&[bytes.as_bytes(), payload]).0
    }

    /// Checks everything that can be checked before the payload is there.
    fn check(&self) -> Result<(), WireError> {
        if self.magic != MAGIC {
            return Err(WireError::Magic);
        }
        if self.reserved != [0; 4] {
            return Err(WireError::Reserved);
        }
        let limit = Kind(self.kind).max_payload_bytes();
        let (bytes, unpacked) = (self.payload_bytes.get(), self.unpacked_bytes.get());
        let longest = bytes.max(unpacked);
        if longest > limit {
            return Err(WireError::TooLong { bytes: longest, limit });
        }
        if self.flags != 0 {
            return Err(WireError::Feature { flags: self.flags });
        }
        match bytes == unpacked {
            true => Ok(()),
            false => Err(WireError::Unpacked { bytes, unpacked }),
        }
    }
}

/// Frame of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Type of its message.
    pub kind: Kind,
    /// Channel; 0 until there is more than one.
    pub channel: u16,
    /// Number in its direction of the connection.
    pub sequence: u64,
    /// Payload, at most 1 MiB.
    pub payload: Bytes,
}

impl Frame {
    /// Bytes of the header. The payload follows it on the wire.
    ///
    /// # Panics
    /// If the payload is longer than its type permits: a mistake of this array.
    pub fn header(&self) -> [u8; HEADER_BYTES] {
        let length = u32::try_from(self.payload.len()).unwrap_or(u32::MAX);
        assert!(length <= self.kind.max_payload_bytes(), "a {} message of {length} bytes", self.kind);
        let mut header = Header {
            magic: MAGIC,
            kind: self.kind.0,
            flags: 0,
            channel: self.channel.into(),
            payload_bytes: length.into(),
            unpacked_bytes: length.into(),
            sequence: self.sequence.into(),
            crc: U32::ZERO,
            reserved: [0; 4],
        };
        header.crc = header.checksum(&self.payload).into();
        let mut bytes = [0; HEADER_BYTES];
        bytes.copy_from_slice(header.as_bytes());
        bytes
    }

    /// Header and payload, copied.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.header()[..], &self.payload].concat()
    }
}

/// Takes frames from a stream that arrives in pieces. It holds at most one frame that is not complete, plus the last
/// piece; it reserves nothing for bytes that have not arrived.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: BytesMut,
}

impl Decoder {
    /// Adds bytes of the stream. Before more are added, [`Decoder::take`] is called until it returns `None`.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the next frame; `None` if it is not complete. After an error, the stream has no further frames.
    pub fn take(&mut self) -> Result<Option<Frame>, WireError> {
        let Ok((header, _)) = Header::read_from_prefix(&self.buffer) else {
            // A stream of something else is noticed by its first bytes.
            let start = self.buffer.len().min(MAGIC.len());
            return match self.buffer[..start] == MAGIC[..start] {
                true => Ok(None),
                false => Err(WireError::Magic),
            };
        };
        header.check()?;
        let length = usize::try_from(header.payload_bytes.get()).unwrap_or(usize::MAX);
        if self.buffer.len() - HEADER_BYTES < length {
            return Ok(None);
        }
        let payload = self.buffer.split_to(HEADER_BYTES + length).freeze().slice(HEADER_BYTES..);
        if header.checksum(&payload) != header.crc.get() {
            return Err(WireError::FrameChecksum);
        }
        let kind = Kind(header.kind);
        Ok(Some(Frame { kind, channel: header.channel.get(), sequence: header.sequence.get(), payload }))
    }

    /// Checks that the stream may end here.
    pub fn finish(&self) -> Result<(), WireError> {
        match self.buffer.is_empty() {
            true => Ok(()),
            false => Err(WireError::Truncated),
        }
    }

    /// Bytes that wait for the rest of their frame.
    pub fn held_bytes(&self) -> usize {
        self.buffer.len()
    }
}
