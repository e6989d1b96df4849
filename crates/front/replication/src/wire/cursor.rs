//! Bounded cursor over the payload of a data message.

use crate::place::{MAX_BLOCKS, MAX_MEMBERS, Position, Range};
use crate::wire::error::WireError;
use crate::wire::kind::Kind;
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Bytes of a position: member (2), reserved (6), block (8).
pub(super) const POSITION_BYTES: usize = 16;

/// Reader of a payload, from the front.
pub(super) struct Reader {
    kind: Kind,
    left: Bytes,
}

impl Reader {
    pub fn new(kind: Kind, payload: Bytes) -> Self {
        Self { kind, left: payload }
    }

    /// An error of this message.
    pub fn error(&self, what: &'static str) -> WireError {
        WireError::Payload { kind: self.kind, what }
    }

    pub fn take(&mut self, length: usize) -> Result<Bytes, WireError> {
        match self.left.len() >= length {
            true => Ok(self.left.split_to(length)),
            false => Err(self.error("it is too short")),
        }
    }

    pub fn u32(&mut self) -> Result<u32, WireError> {
        Ok(self.take(4)?.get_u32_le())
    }

    pub fn u64(&mut self) -> Result<u64, WireError> {
        Ok(self.take(8)?.get_u64_le())
    }

    /// Bytes that are left.
    pub fn left_bytes(&self) -> usize {
        self.left.len()
    }

    /// A position, whose block may be the end of the largest volume.
    pub fn position(&mut self) -> Result<Position, WireError> {
        let mut field = self.take(POSITION_BYTES)?;
        let (member, reserved, block) =
            (field.get_u16_le(), [field.get_u16_le(), field.get_u16_le(), field.get_u16_le()], field.get_u64_le());
        if reserved != [0; 3] {
            return Err(self.error("reserved bytes are not zero"));
        }
        // One more than the last: the end of the group.
        if usize::from(member) > MAX_MEMBERS {
            return Err(self.error("a group has no so many members"));
        }
        match block <= MAX_BLOCKS {
            true => Ok(Position { member, block }),
            false => Err(self.error("a volume has no so many blocks")),
        }
    }

    /// A range that is not empty and ends within the largest volume.
    pub fn range(&mut self) -> Result<Range, WireError> {
        let start = self.position()?;
        let count = self.u64()?;
        let ends = start.block.checked_add(count).filter(|end| count > 0 && *end <= MAX_BLOCKS);
        match ends {
            Some(_) => Ok(Range { start, count }),
            None => Err(self.error("the range is empty or beyond the largest volume")),
        }
    }

    /// Fails if anything is left.
    pub fn finish(&self) -> Result<(), WireError> {
        match self.left.is_empty() {
            true => Ok(()),
            false => Err(self.error("it is too long")),
        }
    }
}

/// Writes a position.
pub(super) fn put_position(to: &mut BytesMut, position: Position) {
    to.put_u16_le(position.member);
    to.put_slice(&[0; 6]);
    to.put_u64_le(position.block);
}

/// Writes a range.
pub(super) fn put_range(to: &mut BytesMut, range: Range) {
    put_position(to, range.start);
    to.put_u64_le(range.count);
}
