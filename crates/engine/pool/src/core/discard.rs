//! Giving free space back to the file system or device below, when [`Options::discard`](crate::Options) asks for it.
//!
//! A release makes blocks free that no durable checkpoint names any more. Long runs of them are discarded, a few at a time. While that is on its way
//! the blocks cannot be allocated; afterwards they can, and hold nothing. It is advice: what is not discarded, because memory or space is short, or
//! the medium cannot, stays as it is.

#[cfg(test)]
mod tests;

use crate::core::Core;
use crate::core::completion::Io;
use crate::space::layout::SEGMENT_BLOCKS;
use media::{BlockAddress, Done, Media, MediaError};

/// Discards with the medium at once.
const IN_FLIGHT: usize = 2;

impl<M: Media> Core<M> {
    /// Starts discards; called by every pump.
    pub(crate) fn step_discard(&mut self) {
        if !self.options.discard || self.replaying.is_some() {
            return;
        }
        // Not where every block may be wanted at once: what is on its way to the medium is missing until it is back.
        let reserves = self.reserve_blocks() + self.working_blocks() + self.checkpoint_blocks();
        let kept = self.space.usable() / 10 + self.objects.promises().promised + reserves;
        while self.discards_in_flight < IN_FLIGHT
            && self.space.available() > kept + SEGMENT_BLOCKS
            && let Some((address, blocks)) = self.space.begin_discard()
        {
            self.discards_in_flight += 1;
            let ticket = self.ticket(Io::Discard { address, blocks });
            self.media.discard(&self.fence, ticket, BlockAddress(address), blocks);
        }
    }

    pub(crate) fn discarded(&mut self, address: u64, blocks: u64, result: &Result<Done, MediaError>) {
        self.discards_in_flight -= 1;
        self.space.end_discard(address, blocks);
        match result {
            Ok(_) => self.counters.discarded += blocks,
            // A medium that cannot is not asked again.
            Err(_) => self.options.discard = false,
        }
    }
}
