//! Messages that change the members of a group.
//!
//! | message | layout |
//! |---|---|
//! | write | range (24), then a CRC-32C (4) for each block, then their content |
//! | zero, lost | range (24) |
//! | clone | range that changes (24), origin (4: 0 base, 1 working), reserved (4), position of the source (16) |
//! | resize | member (2), reserved (6), blocks (8): a position at the end |
//!
//! A range is a position (member 2, reserved 6, block 8) and a number of blocks (8).

use crate::checksum::Crc32c;
use crate::place::{BLOCK_BYTES, MAX_BLOCKS, Position, Range};
use crate::wire::cursor::{Reader, put_position, put_range};
use crate::wire::error::WireError;
use crate::wire::kind::Kind;
use bytes::{BufMut, Bytes, BytesMut};

/// Most blocks of a write: with their checksums they are below the limit of a payload.
pub const MAX_WRITE_BLOCKS: usize = 128;
const CRC_BYTES: usize = 4;

/// Content of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// First block.
    pub start: Position,
    /// CRC-32C of each block, 1 to [`MAX_WRITE_BLOCKS`].
    pub checksums: Vec<Crc32c>,
    /// Content, 4 KiB for each checksum.
    pub data: Bytes,
}

/// Blocks that are unmapped and read as zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zero {
    /// The blocks.
    pub range: Range,
}

/// Where a clone comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloneFrom {
    /// The base of the cycle.
    Base,
    /// The members as they are: a place before the position of the cycle, which is final (rule R3).
    Working,
}

/// Blocks with the content of other ones, which they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clone {
    /// Blocks that change.
    pub to: Range,
    /// Where the source is.
    pub origin: CloneFrom,
    /// First block of the source.
    pub from: Position,
}

impl Clone {
    /// The source.
    pub const fn source(&self) -> Range {
        Range { start: self.from, count: self.to.count }
    }
}

/// New size of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resize {
    /// Index of the member.
    pub member: u16,
    /// Blocks.
    pub blocks: u64,
}

/// Blocks that the source cannot read. The target's reads of them fail too: it never shows other data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The blocks.
    pub range: Range,
}

impl Write {
    /// The blocks that change.
    pub fn range(&self) -> Range {
        Range { start: self.start, count: self.checksums.len() as u64 }
    }

    pub(super) fn encode(&self) -> Bytes {
        let mut to = BytesMut::with_capacity(24 + self.checksums.len() * CRC_BYTES + self.data.len());
        put_range(&mut to, self.range());
        self.checksums.iter().for_each(|crc| to.put_u32_le(crc.0));
        to.put_slice(&self.data);
        to.freeze()
    }

    /// Decodes a write, and verifies the checksum of each block.
    pub(super) fn decode(payload: Bytes) -> Result<Self, WireError> {
        let mut reader = Reader::new(Kind::WRITE, payload);
        let range = reader.range()?;
        let count = usize::try_from(range.count).ok().filter(|count| *count <= MAX_WRITE_BLOCKS);
        let Some(count) = count else { return Err(reader.error("it has too many blocks")) };
        let mut checksums = Vec::with_capacity(count);
        for _ in 0..count {
            checksums.push(Crc32c(reader.u32()?));
        }
        let data = reader.take(count * BLOCK_BYTES)?;
        reader.finish()?;
        let blocks = data.chunks_exact(BLOCK_BYTES).zip(&checksums);
        match blocks.into_iter().position(|(block, crc)| Crc32c::of(block) != *crc) {
            Some(block) => Err(WireError::BlockChecksum { block }),
            None => Ok(Self { start: range.start, checksums, data }),
        }
    }
}

/// A message that is a range alone.
pub(super) fn encode_range(range: Range) -> Bytes {
    let mut to = BytesMut::new();
    put_range(&mut to, range);
    to.freeze()
}

pub(super) fn decode_range(kind: Kind, payload: Bytes) -> Result<Range, WireError> {
    let mut reader = Reader::new(kind, payload);
    let range = reader.range()?;
    reader.finish()?;
    Ok(range)
}

impl Clone {
    pub(super) fn encode(&self) -> Bytes {
        let mut to = BytesMut::new();
        put_range(&mut to, self.to);
        to.put_u32_le(match self.origin {
            CloneFrom::Base => 0,
            CloneFrom::Working => 1,
        });
        to.put_u32_le(0);
        put_position(&mut to, self.from);
        to.freeze()
    }

    pub(super) fn decode(payload: Bytes) -> Result<Self, WireError> {
        let mut reader = Reader::new(Kind::CLONE, payload);
        let to = reader.range()?;
        let origin = match reader.u32()? {
            0 => CloneFrom::Base,
            1 => CloneFrom::Working,
            _ => return Err(reader.error("its origin is not known")),
        };
        if reader.u32()? != 0 {
            return Err(reader.error("reserved bytes are not zero"));
        }
        let from = reader.position()?;
        reader.finish()?;
        match from.block.saturating_add(to.count) <= MAX_BLOCKS {
            true => Ok(Self { to, origin, from }),
            false => Err(reader.error("its source is beyond the largest volume")),
        }
    }
}

impl Resize {
    pub(super) fn encode(&self) -> Bytes {
        let mut to = BytesMut::new();
        put_position(&mut to, Position { member: self.member, block: self.blocks });
        to.freeze()
    }

    pub(super) fn decode(payload: Bytes) -> Result<Self, WireError> {
        let mut reader = Reader::new(Kind::RESIZE, payload);
        let Position { member, block } = reader.position()?;
        reader.finish()?;
        Ok(Self { member, blocks: block })
    }
}
