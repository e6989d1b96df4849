//! Budget of background work beside hosts: freeing detached maps, counting, scanning.
//!
//! While hosts are active, background work gets a share of the reactor's time, in slices so short
//! that no command notices. The share grows gradually towards 100 % as the space that the work
//! frees becomes urgent. If no host has sent a command for a while, background work gets all the
//! time. The cost of a page is measured, because it depends on the processor and on the shape of
//! the maps.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Longest slice while hosts are active.
const SLICE: Duration = Duration::from_micros(50);
/// Longest slice while hosts are active and space is needed at once.
const URGENT_SLICE: Duration = Duration::from_millis(1);
/// Slice while no host is active.
const IDLE_SLICE: Duration = Duration::from_millis(2);
/// Time after their last command for which hosts count as active.
const ACTIVE: Duration = Duration::from_millis(20);
/// Highest urgency.
const URGENT: u16 = 256;

/// Number of calls of hosts that need not reach the pool as operations: files in memory answer them. Clones are one
/// counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostCalls(Rc<Cell<u64>>);

impl HostCalls {
    /// Counts a call.
    pub fn add(&self) {
        self.0.set(self.0.get().wrapping_add(1));
    }

    /// Number of calls so far.
    pub fn number(&self) -> u64 {
        self.0.get()
    }
}

/// Budget of background work.
#[derive(Debug)]
pub(crate) struct BackgroundShare {
    /// Percent of the reactor's time.
    share: u32,
    credit: Duration,
    updated: Instant,
    /// Moving average of the cost of a page in nanoseconds.
    page_ns: u64,
    host_operations: u64,
    host_active: Instant,
}

impl BackgroundShare {
    /// Creates a budget that gives background work `share` percent of the time while hosts are
    /// active.
    pub(crate) fn new(share: u32, now: Instant) -> Self {
        Self {
            share: share.clamp(1, 100),
            credit: Duration::ZERO,
            updated: now,
            page_ns: 5_000,
            host_operations: 0,
            host_active: now,
        }
    }

    /// Records the number of commands that hosts have sent so far.
    pub(crate) fn see_hosts(&mut self, operations: u64, now: Instant) {
        if operations != self.host_operations {
            self.host_operations = operations;
            self.host_active = now;
        }
    }

    /// True while hosts are active.
    pub(crate) fn hosts_active(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.host_active) < ACTIVE
    }

    /// Number of pages that background work may process now; `urgency` is 0 to 256.
    pub(crate) fn pages(&mut self, urgency: u16, now: Instant) -> usize {
        let urgency = u32::from(urgency.min(URGENT));
        let elapsed = now.saturating_duration_since(self.updated);
        self.updated = now;
        let slice = if self.hosts_active(now) {
            let share = self.share + (100 - self.share) * urgency / u32::from(URGENT);
            let slice = SLICE + (URGENT_SLICE - SLICE) * urgency / u32::from(URGENT);
            self.credit = (self.credit + elapsed * share / 100).min(slice);
            self.credit
        } else {
            IDLE_SLICE
        };
        let pages = slice.as_nanos() / u128::from(self.page_ns);
        // A remainder of less than a page stays in the credit.
        usize::try_from(pages).unwrap_or(1).min(4096)
    }

    /// Records the time that `pages` pages took.
    pub(crate) fn spent(&mut self, pages: usize, took: Duration) {
        self.credit = self.credit.saturating_sub(took);
        let pages = u64::try_from(pages).unwrap_or(u64::MAX).max(1);
        let page_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) / pages;
        // The average falls slowly, since pages cost almost nothing while all work waits for the
        // medium, and rises quickly.
        let weight = if page_ns > self.page_ns { 4 } else { 16 };
        self.page_ns = ((self.page_ns * (weight - 1) + page_ns) / weight).clamp(200, 50_000);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_are_active_leave_a_share() {
        let start = Instant::now();
        let mut budget = BackgroundShare::new(20, start);
        let mut done = Duration::ZERO;
        let page = Duration::from_micros(5);
        // One second with a command every 100 µs.
        for i in 1..=10_000u64 {
            let now = start + Duration::from_micros(100) * u32::try_from(i).unwrap_or(0);
            budget.see_hosts(i, now);
            let pages = budget.pages(0, now);
            let took = page * u32::try_from(pages).unwrap_or(0);
            assert!(took <= SLICE);
            if pages > 0 {
                budget.spent(pages, took);
                done += took;
            }
        }
        assert!((190..=205).contains(&done.as_millis()), "{done:?}");
    }

    #[test]
    fn urgency_raises_the_share_gradually() {
        let share = |urgency| {
            let start = Instant::now();
            let mut budget = BackgroundShare::new(20, start);
            let mut done = Duration::ZERO;
            for i in 1..=10_000u64 {
                let now = start + Duration::from_micros(100) * u32::try_from(i).unwrap_or(0);
                budget.see_hosts(i, now);
                let pages = budget.pages(urgency, now);
                let took = Duration::from_micros(5) * u32::try_from(pages).unwrap_or(0);
                budget.spent(pages, took);
                done += took;
            }
            done.as_millis() / 10
        };
        let shares = [0, 64, 128, 192, 256].map(share);
        assert!(shares.is_sorted() && shares[0] <= 21 && shares[4] >= 90, "{shares:?}");
    }

    #[test]
    fn without_hosts_there_is_no_limit_but_the_slice() {
        let start = Instant::now();
        let mut budget = BackgroundShare::new(20, start);
        let later = start + ACTIVE;
        assert!(!budget.hosts_active(later));
        assert!(budget.pages(0, later) >= 100);
        budget.see_hosts(1, later);
        assert!(budget.hosts_active(later));
    }
}
