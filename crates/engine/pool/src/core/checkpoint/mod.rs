//! Checkpoints: freeze the map between two operations, write it beside the old one while new
//! operations run, and flip the root.
//!
//! The order implements the engine's rules. A freeze closes the log, so that the replay point is
//! between frames. Pages and counts go to blocks that were free at the previous checkpoint. Before
//! the flip every record below the replay point is durable, and every block whose oldest undestaged
//! content is below it has been destaged (the finish rule). The flip releases only blocks that were
//! free at the freeze and have not been allocated since (the release rule).

mod destage;
mod freeze;
pub(crate) mod frozen;
pub(crate) mod pace;
pub(crate) mod root;
#[cfg(test)]
mod tests;

use crate::catalog::documents::Stored;
use crate::catalog::stream::MAX_STREAM_BYTES;
use crate::core::Core;
use crate::core::checkpoint::frozen::{Frozen, Stage};
use crate::core::io::{Io, Rewrite};
use media::{FEATURE_INDEX, Media, Ticket};

/// Largest number of concurrent writes of a checkpoint.
const WRITES: usize = 64;
/// Largest number of neighbouring pages in one write.
const RUN: usize = 64;
/// Blocks that a freeze requests beyond its plan.
const SPARE_BLOCKS: u64 = 16;

impl<M: Media> Core<M> {
    /// Starts or advances a checkpoint.
    pub(crate) fn step_checkpoint(&mut self) {
        if !self.checkpoints.in_flight() {
            if !self.checkpoints.wanted || self.stopped.is_some() {
                return;
            }
            if !self.freeze() {
                self.checkpoints.freeze_waits = self.checkpoints.freeze_waits.saturating_add(1);
                return;
            }
            self.checkpoints.freeze_waits = 0;
            self.checkpoints.wanted = false;
        }
        self.advance_checkpoint();
    }

    fn advance_checkpoint(&mut self) {
        let Some(frozen) = &mut self.checkpoints.frozen else { return };
        match frozen.stage {
            Stage::Writing => {
                self.seal_frozen();
                self.write_frozen();
            }
            Stage::Destaging => self.destage_frozen(),
            Stage::Flushing | Stage::Swapping => {}
            Stage::Releasing => self.release_frozen(),
        }
    }

    /// Seals a part of the pages of the epoch that has ended.
    fn seal_frozen(&mut self) {
        if self.map.is_sealing() {
            let work = self.turn.freeze_left();
            self.seal(work);
        }
    }

    /// Seals for about as much `work`.
    fn seal(&mut self, work: usize) {
        let Some(frozen) = &mut self.checkpoints.frozen else { return };
        let stock = self.medium.stock();
        let sealed = self.map.seal(work, &mut |address, content| {
            let mut buffer = stock.take(1);
            buffer.copy_from_slice(content);
            frozen.blocks.push((address, buffer));
        });
        let Some(slice) = sealed else { return self.stop("the map contradicts itself (checkpoint)") };
        self.turn.note_frozen(slice.work);
        frozen.pace.progress(slice.pages);
        if slice.done
            && let Some(mut frozen) = self.checkpoints.frozen.take()
        {
            self.enter_trees(&mut frozen.root);
            if let Some(check) = &mut self.online_check {
                check.complete_picture(frozen.epoch, |pointer| self.map.pages().completed(pointer));
            }
            frozen.pages = self.map.take_sealed();
            self.counters.pages_written += frozen.pages.len() as u64;
            self.checkpoints.frozen = Some(frozen);
        } else {
            self.turn.cut();
        }
    }

    /// Seals all that the checkpoint in flight has still to seal, at once: for tools.
    pub(crate) fn seal_all(&mut self) {
        while self.map.is_sealing() && self.stopped.is_none() {
            self.seal(usize::MAX);
        }
    }

    fn write_frozen(&mut self) {
        let Some(mut frozen) = self.checkpoints.frozen.take() else { return };
        let mut complete = false;
        while frozen.in_flight < WRITES {
            // A run of pages is at most as long.
            let left = self.turn.blocks_left();
            if left == 0 {
                break;
            }
            let Some(rewrite) = self.next_rewrite(&mut frozen, left) else {
                complete = !self.map.is_sealing();
                break;
            };
            let (address, buffer) = rewrite.request(self.medium.stock());
            frozen.in_flight += 1;
            self.turn.spend_blocks(buffer.blocks());
            self.counters.checkpoint_bytes += buffer.len() as u64;
            self.medium.write(Io::Checkpoint { blocks: buffer.blocks(), rewrite }, address, buffer);
        }
        if complete && frozen.in_flight == 0 {
            frozen.root.groups = self.map.space().groups().to_vec();
            frozen.stage = Stage::Destaging;
        }
        let destaging = frozen.stage == Stage::Destaging;
        self.checkpoints.frozen = Some(frozen);
        if destaging {
            self.destage_frozen();
        }
    }

    /// Next write of the checkpoint, of up to `most` blocks; `None`: there is none now.
    fn next_rewrite(&mut self, frozen: &mut Frozen, most: usize) -> Option<Rewrite> {
        if let Some((address, buffer)) = frozen.blocks.pop() {
            return Some(Rewrite::Blocks(address, buffer));
        }
        let stock = self.medium.stock();
        if let Some((address, buffer)) = self.map.next_counts(|| stock.take(1)) {
            return Some(Rewrite::Blocks(address, buffer));
        }
        // Neighbouring pages form one request.
        let mut run = vec![frozen.pages.pop_first()?];
        while run.len() < most.min(RUN)
            && let Some(page) = frozen.pages.first_entry()
            && run.last().is_some_and(|(last, _)| *last + 1 == *page.key())
        {
            run.push(page.remove_entry());
        }
        Some(Rewrite::Pages(run))
    }

    pub(crate) fn checkpoint_written(&mut self, blocks: usize) {
        if let Some(frozen) = &mut self.checkpoints.frozen {
            frozen.in_flight -= 1;
            frozen.pace.progress(blocks);
        }
        self.advance_checkpoint();
    }

    pub(crate) fn checkpoint_flushed(&mut self) {
        let Some(frozen) = &mut self.checkpoints.frozen else { return };
        frozen.stage = Stage::Swapping;
        let long_table = frozen.root.objects.length() > MAX_STREAM_BYTES;
        if frozen.root.stored_documents != Stored::List || long_table {
            self.medium.require_features(FEATURE_INDEX);
        }
        self.swap_frozen_root();
    }

    /// Makes the root of the checkpoint in flight the one in force; repeated until there is room for
    /// it.
    pub(crate) fn swap_frozen_root(&mut self) -> Option<Ticket> {
        let root = self.checkpoints.frozen.as_ref()?.root.encode();
        Some(self.medium.swap_root(Io::Swap, self.checkpoints.root_version, &root))
    }

    /// The checkpoint is in force. The blocks that it no longer names follow in slices.
    pub(crate) fn checkpoint_done(&mut self) {
        let Some(frozen) = &mut self.checkpoints.frozen else { return };
        frozen.stage = Stage::Releasing;
        let (epoch, log_position) = (frozen.epoch, frozen.root.log_position);
        self.checkpoints.root_version += 1;
        self.map.commit_epoch(epoch);
        self.log.truncate(log_position);
        self.release_held_space();
        let hold = self.online_check.as_ref().is_some_and(|check| check.holds());
        self.map.begin_release(hold);
        self.release_frozen();
    }

    /// Releases a part of the blocks that were free at the freeze. The checkpoint ends with the last.
    fn release_frozen(&mut self) {
        let left = self.turn.freeze_left();
        let released = self.map.release_some(left);
        self.turn.note_frozen(released);
        if released == left {
            return self.turn.cut();
        }
        self.checkpoints.frozen = None;
        self.growth_done();
        self.counters.checkpoints += 1;
        self.parked.note_checkpoint();
        self.schedule.forget_unreadable();
        self.fail_or_retry_space(true);
    }
}
