//! Locks on ranges of bytes, one holder at a time: each request waits for all earlier overlapping
//! ones.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Ranges {
    /// Held and waiting ranges with their tickets, in order of arrival.
    queue: RefCell<Vec<(u64, Range<u64>)>>,
    next: Cell<u64>,
    released: Notify,
}

/// Guard of a range; releases it when dropped.
#[derive(Debug)]
pub(crate) struct HeldRange<'a> {
    ranges: &'a Ranges,
    ticket: u64,
}

impl Drop for HeldRange<'_> {
    fn drop(&mut self) {
        self.ranges.queue.borrow_mut().retain(|(ticket, _)| *ticket != self.ticket);
        self.ranges.released.notify_waiters();
    }
}

impl Ranges {
    /// Locks the range; waits until no earlier request overlaps it.
    pub(crate) async fn hold(&self, range: Range<u64>) -> HeldRange<'_> {
        let ticket = self.next.replace(self.next.get() + 1);
        self.queue.borrow_mut().push((ticket, range.clone()));
        let held = HeldRange { ranges: self, ticket };
        loop {
            let released = self.released.notified();
            let before = |(other, taken): &(u64, Range<u64>)| {
                *other < ticket && taken.start < range.end && range.start < taken.end
            };
            if !self.queue.borrow().iter().any(before) {
                return held;
            }
            released.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::pin::pin;

    #[test]
    fn overlapping_ranges_wait_in_order_and_others_do_not() {
        let ranges = Ranges::default();
        let first = ranges.hold(0..10).now_or_never();
        assert!(first.is_some() && ranges.hold(10..20).now_or_never().is_some());
        let mut second = pin!(ranges.hold(5..15));
        let mut third = pin!(ranges.hold(12..13));
        assert!(second.as_mut().now_or_never().is_none());
        // Free, but an earlier waiter overlaps it.
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        let second = second.now_or_never();
        assert!(second.is_some() && third.as_mut().now_or_never().is_none());
        drop(second);
        assert!(third.now_or_never().is_some());
    }
}
