//! Blocks with known content: the content of each block, a later write to it, and the result of
//! that write.

use bytes::Bytes;

use super::DisturbanceError;
use conformance::commands::BLOCK_BYTES;
use conformance::commands::CommandError;
use conformance::initiator::Session;
use random::sector::{number_of, numbered};

/// Number of blocks of one READ.
const READ_BLOCKS: u32 = 1024;

/// Result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteResult {
    /// Both old and new content are right.
    Unknown,
    /// The write was acknowledged.
    Written,
    /// The write was refused.
    Refused,
}

/// Possible contents of one block.
#[derive(Clone, Copy, Debug)]
struct Block {
    old: u64,
    new: Option<(u64, WriteResult)>,
}

impl Block {
    /// Whether the block may hold this stamp.
    fn may_hold(&self, stamp: u64) -> bool {
        match self.new {
            None | Some((_, WriteResult::Refused)) => stamp == self.old,
            Some((new, WriteResult::Written)) => stamp == new,
            Some((new, WriteResult::Unknown)) => stamp == new || stamp == self.old,
        }
    }
}

/// Range of blocks that one initiator writes.
#[derive(Debug)]
pub(super) struct Region {
    start: u64,
    blocks: Vec<Block>,
    next_stamp: u64,
}

/// Error found in a region.
pub(super) enum ReadBackError {
    /// The region cannot be read.
    Command(CommandError),
    /// A block holds content that is not possible.
    Content(String),
}

impl From<CommandError> for ReadBackError {
    fn from(error: CommandError) -> Self {
        Self::Command(error)
    }
}

impl ReadBackError {
    /// Converts to the error of a round.
    pub(super) fn in_round(self, round: u32) -> DisturbanceError {
        match self {
            Self::Command(error) => error.into(),
            Self::Content(what) => DisturbanceError::Violation { round, what },
        }
    }
}

impl Region {
    /// Creates a region; the stamps after `first_stamp` belong to it alone.
    pub(super) fn new(start: u64, count: u64, first_stamp: u64) -> Self {
        let blocks = (0..count).map(|_| Block { old: 0, new: None }).collect();
        Self { start, blocks, next_stamp: first_stamp + 1 }
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn end(&self) -> u64 {
        self.start + self.blocks.len() as u64
    }

    fn slots(&mut self, lba: u64, count: u32) -> impl Iterator<Item = &mut Block> {
        let skipped = usize::try_from(lba.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.blocks.iter_mut().skip(skipped).take(count as usize)
    }

    /// Builds content for a write, with a new stamp for each block. The result of the write is unknown
    /// until [`Self::decide`].
    pub(super) fn new_content(&mut self, lba: u64, count: u32) -> Bytes {
        let stamps = self.next_stamp..;
        self.next_stamp += u64::from(count);
        let mut data = vec![0; count as usize * BLOCK_BYTES];
        let pieces = data.chunks_mut(BLOCK_BYTES);
        for ((block, piece), stamp) in self.slots(lba, count).zip(pieces).zip(stamps) {
            piece.copy_from_slice(&numbered(stamp));
            block.new = Some((stamp, WriteResult::Unknown));
        }
        data.into()
    }

    /// Records the result of a write.
    pub(super) fn decide(&mut self, lba: u64, count: u32, result: WriteResult) {
        for block in self.slots(lba, count) {
            block.new = block.new.map(|(stamp, _)| (stamp, result));
        }
    }

    /// Reads the region for the first time: any content is right.
    pub(super) fn read_back(&mut self, session: &mut Session) -> Result<(), CommandError> {
        let stamps = self.stamps(session)?;
        for (block, stamp) in self.blocks.iter_mut().zip(stamps) {
            *block = Block { old: stamp.unwrap_or(0), new: None };
        }
        Ok(())
    }

    /// Reads the region and compares; from then on the content found is the only possible one.
    pub(super) fn verify(&mut self, session: &mut Session) -> Result<(), ReadBackError> {
        let stamps = self.stamps(session)?;
        for ((block, stamp), lba) in self.blocks.iter_mut().zip(stamps).zip(self.start..) {
            let Some(stamp) = stamp.filter(|stamp| block.may_hold(*stamp)) else {
                let found = stamp.map_or("torn or foreign data".into(), |stamp| format!("stamp {stamp:#x}"));
                return Err(ReadBackError::Content(format!("block {lba} holds {found}, expected {block:x?}")));
            };
            *block = Block { old: stamp, new: None };
        }
        Ok(())
    }

    fn stamps(&self, session: &mut Session) -> Result<Vec<Option<u64>>, CommandError> {
        let mut stamps = Vec::with_capacity(self.blocks.len());
        let mut lba = self.start;
        while lba < self.end() {
            let count = u32::try_from(self.end() - lba).unwrap_or(READ_BLOCKS).min(READ_BLOCKS);
            let data = session.read16(lba, count)?;
            stamps.extend(data.chunks(BLOCK_BYTES).map(number_of));
            lba += u64::from(count);
        }
        Ok(stamps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_a_write_limits_the_content_of_its_block() {
        let block = |result| Block { old: 1, new: Some((2, result)) };
        let allowed = |block: Block| [1, 2, 3].map(|stamp| block.may_hold(stamp));
        assert_eq!(allowed(Block { old: 1, new: None }), [true, false, false]);
        assert_eq!(allowed(block(WriteResult::Unknown)), [true, true, false]);
        assert_eq!(allowed(block(WriteResult::Written)), [false, true, false]);
        assert_eq!(allowed(block(WriteResult::Refused)), [true, false, false]);
    }

    #[test]
    fn stamps_of_a_write_are_all_different() {
        let mut region = Region::new(100, 10, 0);
        let data = region.new_content(103, 3);
        let stamps: Vec<_> = data.chunks(BLOCK_BYTES).map(number_of).collect();
        assert_eq!(stamps, [Some(1), Some(2), Some(3)]);
        region.decide(104, 1, WriteResult::Written);
        let new: Vec<_> = region.blocks.iter().map(|block| block.new.map(|(_, result)| result)).collect();
        let open = Some(WriteResult::Unknown);
        assert_eq!(new, [None, None, None, open, Some(WriteResult::Written), open, None, None, None, None]);
    }
}
