//! Free space and reference counts, as the steps of the core use them.

use crate::map::Map;
use crate::space::FreeRun;
use crate::space::slot::SlotEntry;
use media::{BlockAddress, Buffer};

/// Result of a search for free blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Memory knows enough of them.
    Enough,
    /// Counts must be read first; the need lists them.
    Unread,
    /// The pool does not have that many.
    TooFew,
}

impl Map {
    /// Prepares for the allocation of this many blocks.
    #[inline]
    pub fn find_space(&mut self, blocks: u64) -> Found {
        let mut segments = Vec::new();
        if self.space.prepare(blocks, &mut segments) {
            return Found::Enough;
        }
        if segments.is_empty() {
            return Found::TooFew;
        }
        self.need.segments.append(&mut segments);
        Found::Unread
    }

    /// Verifies the counts read for a segment and loads them.
    pub fn counts_arrived(&mut self, segment: u32, block: &[u8]) -> Result<(), String> {
        self.space.load(segment, block)
    }

    /// Gives up the counts of a segment, which fail their checksum: no block there is allocated or
    /// freed until a repair.
    pub fn give_up_counts(&mut self, segment: u32) {
        self.space.give_up(segment);
    }

    /// Notes that the counts of a segment cannot be read now.
    pub fn lose_counts(&mut self, segment: u32, reason: &str) {
        self.space.lose(segment, reason);
    }

    /// Evicts clean segments of counts until at most `limit` remain.
    pub fn evict_counts(&mut self, limit: usize) {
        self.space.evict(limit);
    }

    /// Forbids allocation of a block that a record not yet replayed names.
    pub fn forbid_block(&mut self, address: BlockAddress) {
        self.space.forbid(address);
    }

    /// Permits allocation of all free blocks: every record was replayed.
    pub fn permit_all_blocks(&mut self) {
        self.space.permit_all();
    }

    /// Takes a run of free blocks to discard; they cannot be allocated until [`Self::end_discard`].
    pub fn begin_discard(&mut self) -> Option<FreeRun> {
        self.space.begin_discard()
    }

    /// Ends the discard of a run.
    pub fn end_discard(&mut self, run: FreeRun) {
        self.space.end_discard(run);
    }

    /// Freezes the counts: [`Self::next_counts`] returns the blocks to write.
    pub fn freeze_counts(&mut self) {
        self.space.freeze();
    }

    /// Next block with counts, or index of counts, that the checkpoint in flight has to write.
    pub fn next_counts(&mut self, block: impl FnMut() -> Buffer) -> Option<(BlockAddress, Buffer)> {
        self.space.next_write(block)
    }

    /// Begins to release the blocks that the freeze found free; with `hold` they stay unavailable
    /// until a later release without it.
    pub fn begin_release(&mut self, hold: bool) {
        self.space.begin_release(hold);
    }

    /// Releases the blocks of up to `most` segments; returns their number, fewer at the end.
    pub fn release_some(&mut self, most: usize) -> usize {
        self.space.release_some(most)
    }

    /// Makes a segment part of the next checkpoint. False if its counts have to be read first.
    pub fn hold_counts(&mut self, segment: u32) -> bool {
        self.space.hold(segment)
    }

    /// Moves the end of the data area from the next freeze on, which must follow at once.
    pub fn begin_growth(&mut self, end: BlockAddress) -> Option<()> {
        self.space.begin_growth(end)
    }

    /// Completes a growth whose checkpoint is durable.
    pub fn finish_growth(&mut self) {
        self.space.finish_growth();
    }

    /// Takes over the entry of a segment whose counts a repair has written.
    pub fn replace_counts(&mut self, segment: u32, entry: SlotEntry) {
        self.space.replace_entry(segment, entry);
    }

    /// Takes over the number of blocks in use that a repair has found.
    pub fn end_rebuild(&mut self, in_use: u64) {
        self.space.rebuilt(in_use);
    }

    /// Lets the next checkpoint write the index of a zone, and with it the root.
    pub fn rewrite_index(&mut self, zone: u32) {
        self.space.distrust(zone);
    }
}
