//! Giving back the references of detached sub-trees, in the background.

use crate::core::Core;
use crate::interface::Incident;
use crate::map::reclaim::Reclaimed;
use media::Media;

/// How many entries of the queue are read ahead while others wait.
const WINDOW: usize = 64;
/// Requests with the medium beyond which nothing is read ahead.
const MANY_REQUESTS: usize = 256;
/// So many blocks that were given back call for a checkpoint: 256 MiB.
const MUCH: u64 = 65_536;

impl<M: Media> Core<M> {
    /// Gives back references of detached sub-trees: up to `pages` of them.
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
                    // What cannot be read keeps its space, and does not keep the others waiting.
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
        self.map.need_mut().clear();
    }

    /// True when what was given back of detached sub-trees is worth a checkpoint, which makes it allocatable.
    pub(super) fn much_given_back(&self) -> bool {
        let (drops, space) = (self.map.drops(), self.map.space());
        drops.given_back()
            && drops.queue().is_empty()
            && !self.checkpoints.in_flight()
            && space.pinned() >= MUCH.min(space.usable() / 64)
    }
}
