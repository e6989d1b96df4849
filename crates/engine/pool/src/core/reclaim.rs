//! Reclaim: gives back the references of detached sub-trees, in the background.

#[cfg(test)]
mod tests;

use crate::core::Core;
use crate::interface::Incident;
use crate::map::reclaim::Reclaimed;
use media::Media;

/// Number of queue entries that are read ahead.
const WINDOW: usize = 64;
/// Number of requests in flight beyond which nothing is read ahead.
const MANY_REQUESTS: usize = 256;
/// Blocks that detached sub-trees have returned and that justify a checkpoint: 256 MiB, in a small pool
/// a 64th of it.
const MUCH: u64 = 65_536;
/// Blocks freed since the last freeze that justify a checkpoint, whatever has freed them: 4 GiB, in a
/// small pool a 64th of it. Replaced map pages count too, about one for each record of a small write;
/// such writes fill the log before they reach this number.
const REPLACED: u64 = 1 << 20;
/// Least number of freed blocks for such a checkpoint, in the smallest pools: 4 MiB.
const FEW: u64 = 1024;

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

    /// True if so many blocks have been freed that a checkpoint, which makes them allocatable, is due:
    /// because detached sub-trees have returned them, or because large writes replace the content of
    /// volumes. Otherwise such writes, whose records are short, would take new space until the log is
    /// full, many times that of the volume.
    pub(super) fn enough_freed(&self) -> bool {
        let (drops, space) = (self.map.drops(), self.map.space());
        if self.checkpoints.in_flight() || !drops.queue().is_empty() {
            return false;
        }
        let part = space.usable() / 64;
        (drops.given_back() && space.pinned() >= MUCH.min(part)) || space.freed() >= REPLACED.min(part.max(FEW))
    }
}
