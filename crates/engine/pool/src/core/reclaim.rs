//! Reclaim: gives back the references of detached sub-trees, in the background.

use crate::core::Core;
use crate::interface::Incident;
use crate::map::reclaim::Reclaimed;
use media::Media;

/// Number of queue entries that are read ahead.
const WINDOW: usize = 64;
/// Number of requests in flight beyond which nothing is read ahead.
const MANY_REQUESTS: usize = 256;
/// Number of returned blocks that justify a checkpoint: 256 MiB.
const MUCH: u64 = 65_536;

impl<M: Media> Core<M> {
    /// Gives back references of detached sub-trees: at most `pages` pages.
    pub(super) fn reclaim(&mut self, pages: usize) {
        let mut done = 0;
        let mut skip = 0;
        let mut keep_loading = true;
        while done < pages && skip < WINDOW && skip < self.map.drops().queue().len() {
            let at = self.map.drops().queue().len() - 1 - skip;
            match self.map.reclaim(at) {
                Reclaimed::Done => {
                    done += 1;
                    self.counters.reclaimed += 1;
                }
                Reclaimed::Damaged(reason) => self.incidents.note(Incident::Metadata(reason)),
                Reclaimed::Wait => {
                    // An unreadable entry keeps its space, and does not block the other entries.
                    if keep_loading && !self.schedule.is_unreadable(self.map.need()) {
                        self.issue_need();
                        keep_loading = self.medium.in_flight() < MANY_REQUESTS;
                    }
                    skip += 1;
                }
                Reclaimed::Broken => {
                    self.stop("the map contradicts itself (reclaim)");
                    return;
                }
            }
        }
        self.map.forget_need();
    }

    /// True if detached sub-trees have returned enough blocks for a checkpoint, which makes them
    /// allocatable.
    pub(super) fn enough_given_back(&self) -> bool {
        let (drops, space) = (self.map.drops(), self.map.space());
        drops.given_back()
            && drops.queue().is_empty()
            && !self.checkpoints.in_flight()
            && space.pinned() >= MUCH.min(space.usable() / 64)
    }
}
