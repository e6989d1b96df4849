//! Giving free space back to the file system or device below, when [`Options::discard`](crate::Options) asks for it.
//!
//! A release makes blocks free that no durable checkpoint names any more. Long runs of them are discarded, a few at a time. While that is on its way
//! the blocks cannot be allocated; afterwards they can, and hold nothing. It is advice: what is not discarded, because memory or space is short, or
//! the medium cannot, stays as it is.

#[cfg(test)]
mod tests;

use crate::core::Core;
use crate::core::io::Io;
use crate::space::layout::SEGMENT_BLOCKS;
use media::{Done, Media, MediaError};

/// Discards with the medium at once.
const IN_FLIGHT: usize = 2;

impl<M: Media> Core<M> {
    /// Starts discards; called by every pump.
    pub(crate) fn step_discard(&mut self) {
        if !self.options.discard || self.replaying.is_some() {
            return;
        }
        // Not where every block may be wanted at once: what is on its way to the medium is missing until it is back.
        let reserves = self.map.reserve_blocks() + self.map.working_blocks() + self.map.checkpoint_blocks();
        let kept = self.map.space().usable() / 10 + self.map.objects().promises().promised + reserves;
        while self.discards_in_flight < IN_FLIGHT
            && self.map.space().available() > kept + SEGMENT_BLOCKS
            && let Some((address, blocks)) = self.map.space_mut().begin_discard()
        {
            self.discards_in_flight += 1;
            self.medium.discard(Io::Discard { address, blocks }, address, blocks);
        }
    }

    pub(crate) fn discarded(&mut self, address: u64, blocks: u64, result: &Result<Done, MediaError>) {
        self.discards_in_flight -= 1;
        self.map.space_mut().end_discard(address, blocks);
        match result {
            Ok(_) => self.counters.discarded += blocks,
            // A medium that cannot is not asked again.
            Err(_) => self.options.discard = false,
        }
    }
}
