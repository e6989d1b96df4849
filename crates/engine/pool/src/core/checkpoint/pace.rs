//! Pacing: while a checkpoint is on its way, operations take the rest of the log only as fast as the checkpoint gets on. So when hosts write faster
//! than the medium can take, every write becomes a little slower, instead of all of them standing still until the log is free again. The
//! same between checkpoints for memory: the more blocks wait to be destaged, the more of the medium destaging gets, and operations wait for it
//! before they take more memory than their share.

use crate::core::Core;
use crate::map::page::PAGE_BYTES;
use media::{BLOCK_BYTES, Media};

/// Percent of the log left at the freeze that operations may take at once; the rest comes with the checkpoint's progress.
const AT_ONCE: u64 = 40;

/// How far a checkpoint is, and what was left of the log when it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    used: u64,
    left: u64,
    work: u64,
    done: u64,
}

impl Pace {
    /// A checkpoint that has to write `work` pages and blocks begins, with `used` of `capacity` bytes of the log in use.
    pub(crate) fn new(used: u64, capacity: u64, work: u64) -> Self {
        Self { used, left: capacity.saturating_sub(used), work: work.max(1), done: 0 }
    }

    /// Pages or blocks were written.
    pub(crate) fn progress(&mut self, written: usize) {
        self.done = (self.done + written as u64).min(self.work);
    }

    /// Bytes of the log that may be in use now.
    #[cold]
    fn allowed(&self) -> u64 {
        let earned = AT_ONCE * self.work + (100 - AT_ONCE) * self.done;
        let share = u128::from(self.left) * u128::from(earned) / (100 * u128::from(self.work));
        self.used + share as u64
    }
}

impl<M: Media> Core<M> {
    /// True when an operation with records of `bytes` bytes may go into the log now.
    #[inline]
    pub(crate) fn log_takes(&self, bytes: usize) -> bool {
        // No checkpoint comes to an end while the file system is full: the whole log is there for that.
        self.log.fits(bytes) && (!self.is_paced(bytes) || self.starved())
    }

    /// True when an operation with records of `bytes` bytes would get ahead of the checkpoint or of destaging.
    #[inline]
    fn is_paced(&self, bytes: usize) -> bool {
        self.memory_is_full()
            || self.frozen.as_ref().is_some_and(|frozen| self.log.used() + bytes as u64 > frozen.pace.allowed())
    }

    /// Blocks in memory that wait to be destaged, at most, unless hosts write faster than the medium takes them.
    #[inline]
    fn most_dirty(&self) -> usize {
        (self.options.memory_bytes / 8 / BLOCK_BYTES).max(8)
    }

    /// True when so much waits to be destaged, or has changed since a checkpoint in progress began, that no operation may add to it.
    #[inline]
    pub(crate) fn memory_is_full(&self) -> bool {
        self.blocks.dirty() >= 2 * self.most_dirty()
            || (self.frozen.is_some() && self.dirty_page_bytes() > self.options.memory_bytes / 8)
    }

    /// Map pages that have changed since the last freeze.
    #[inline]
    pub(crate) fn dirty_page_bytes(&self) -> usize {
        self.dirty_pages.len() * PAGE_BYTES
    }

    /// How many of `batch` blocks may be on their way to their places now: none while few wait, since what hosts overwrite soon need not be written
    /// twice; then more and more.
    pub(crate) fn destage_share(&self, batch: usize) -> usize {
        let most = self.most_dirty();
        let low = most / 2;
        let over = self.blocks.dirty().saturating_sub(low).min(most - low);
        (batch * over).div_ceil(most - low)
    }

    /// Lets operations that wait for log space go on, in their order, as far as it reaches.
    pub(crate) fn retry_paced(&mut self) {
        if self.log_waiters.is_empty() || !self.log_takes(1) {
            return;
        }
        for _ in 0..self.log_waiters.len() {
            let Some(id) = self.log_waiters.pop_front() else { return };
            let Some(pending) = self.operations.remove(&id) else { continue };
            self.attempt(id, pending);
            if self.log_waiters.back() == Some(&id) {
                // Still no room for this one: those behind it wait their turn.
                self.log_waiters.pop_back();
                self.log_waiters.push_front(id);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_the_log_comes_with_progress() {
        let mut pace = Pace::new(500, 1000, 10);
        assert_eq!(pace.allowed(), 700);
        pace.progress(5);
        assert_eq!(pace.allowed(), 850);
        pace.progress(50);
        assert_eq!(pace.allowed(), 1000);
        assert_eq!(Pace::new(500, 400, 0).allowed(), 500);
    }
}
