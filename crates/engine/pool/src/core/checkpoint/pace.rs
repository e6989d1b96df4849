//! Pacing: while a checkpoint is in flight, operations use the rest of the log only as fast as the
//! checkpoint progresses. If hosts write faster than the medium, every write becomes a little
//! slower, instead of all of them stopping until the log is free again. Memory is paced between
//! checkpoints in the same way: the more blocks are dirty, the larger the share of the medium that
//! destaging gets, and operations wait for it before they exceed their share of memory.

/// Percentage of the log left at the freeze that operations may use at once; the rest follows the
/// checkpoint's progress.
const AT_ONCE: u64 = 40;

/// Progress of a checkpoint, and the log that was left when it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    used: u64,
    left: u64,
    work: u64,
    done: u64,
}

impl Pace {
    /// Starts the pace of a checkpoint that writes `work` pages and blocks, with `used` of
    /// `capacity` bytes of the log in use.
    pub(crate) fn new(used: u64, capacity: u64, work: u64) -> Self {
        Self { used, left: capacity.saturating_sub(used), work: work.max(1), done: 0 }
    }

    /// Notes that pages or blocks were written.
    pub(crate) fn progress(&mut self, written: usize) {
        self.done = (self.done + written as u64).min(self.work);
    }

    /// Largest number of bytes of the log that may be in use now.
    #[cold]
    pub(crate) fn allowed(&self) -> u64 {
        let earned = AT_ONCE * self.work + (100 - AT_ONCE) * self.done;
        let share = u128::from(self.left) * u128::from(earned) / (100 * u128::from(self.work));
        self.used + share as u64
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
