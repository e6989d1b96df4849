//! Discards: return free space to the file system or device below, if
//! [`Options::discard`](crate::Options) is set.
//!
//! A release frees blocks that no durable checkpoint names any longer. Long runs of them are
//! discarded, a few at a time. Their blocks cannot be allocated during the discard; afterwards they
//! can, and hold nothing. A discard is advice: blocks that are not discarded, because memory or
//! space is short or the medium does not support it, stay as they are.

#[cfg(test)]
mod tests;

use crate::core::Core;
use crate::core::io::Io;
use crate::space::FreeRun;
use crate::space::layout::SEGMENT_BLOCKS;
use media::{Done, Media, MediaError};

/// Largest number of concurrent discards.
const IN_FLIGHT: usize = 2;

impl<M: Media> Core<M> {
    /// Starts discards; every pump calls it.
    pub(crate) fn step_discard(&mut self) {
        if !self.options.discard || self.replaying.is_some() {
            return;
        }
        // No discards where every block may soon be needed: blocks being discarded are unavailable.
        let reserves = self.map.reserve_blocks() + self.map.working_blocks() + self.map.checkpoint_blocks();
        let kept = self.map.space().usable() / 10 + self.map.promised_blocks() + reserves;
        while self.discards_in_flight < IN_FLIGHT
            && self.map.space().available() > kept + SEGMENT_BLOCKS
            && let Some(run) = self.map.begin_discard()
        {
            self.discards_in_flight += 1;
            self.medium.discard(Io::Discard(run), run.address, run.blocks);
        }
    }

    pub(crate) fn discarded(&mut self, run: FreeRun, result: &Result<Done, MediaError>) {
        self.discards_in_flight -= 1;
        self.map.end_discard(run);
        match result {
            Ok(_) => self.counters.discarded += run.blocks,
            // A medium that does not support discards is not asked again.
            Err(_) => self.options.discard = false,
        }
    }
}
