//! Lock of ranges, one holder at a time. A task waits only for overlapping ranges. Waiters are
//! served in order of arrival, but urgent ones precede all other waiters.
//!
//! A task that holds a range must not request another one of the same lock: two such tasks could
//! deadlock.

use std::cell::{Cell, RefCell};
use std::future;
use std::ops::Range;
use std::task::{Context, Poll, Waker};

/// Lock of ranges for the tasks of one thread.
#[derive(Debug, Default)]
pub struct RangeLock {
    /// Holders and waiters, in the order in which they are served.
    queue: RefCell<Vec<Place>>,
    tickets: Cell<u64>,
}

/// A task in the line.
#[derive(Debug)]
struct Place {
    ticket: u64,
    range: Range<u64>,
    /// Precedes other waiters.
    urgent: bool,
    /// Holds its range.
    granted: bool,
    waker: Option<Waker>,
}

impl Place {
    fn overlaps(&self, other: &Self) -> bool {
        self.range.start < other.range.end && other.range.start < self.range.end
    }
}

/// Guard of a range; releases it when dropped.
#[derive(Debug)]
pub struct RangeGuard<'a> {
    lock: &'a RangeLock,
    ticket: u64,
}

impl RangeLock {
    /// Locks a range; waits for holders and earlier waiters of overlapping ranges.
    pub async fn lock(&self, range: Range<u64>) -> RangeGuard<'_> {
        self.enter(range, false).await
    }

    /// Like [`Self::lock`], but precedes all other waiters.
    pub async fn lock_urgently(&self, range: Range<u64>) -> RangeGuard<'_> {
        self.enter(range, true).await
    }

    async fn enter(&self, range: Range<u64>, urgent: bool) -> RangeGuard<'_> {
        let ticket = self.tickets.get();
        self.tickets.set(ticket + 1);
        self.enqueue(Place { ticket, range, urgent, granted: false, waker: None }, urgent);
        // From here on, dropping the future leaves the line, also while it waits.
        let guard = RangeGuard { lock: self, ticket };
        guard.wait().await;
        guard
    }

    /// Adds a task to the line: at the end, or before all waiters that are not urgent.
    fn enqueue(&self, place: Place, before_others: bool) {
        let mut queue = self.queue.borrow_mut();
        let waits = |other: &Place| !other.granted && !other.urgent;
        let at = if before_others { queue.iter().position(waits) } else { None };
        let at = at.unwrap_or(queue.len());
        queue.insert(at, place);
    }

    fn poll(&self, ticket: u64, context: &mut Context<'_>) -> Poll<()> {
        let mut queue = self.queue.borrow_mut();
        let Some(at) = queue.iter().position(|place| place.ticket == ticket) else { return Poll::Ready(()) };
        let (before, rest) = queue.split_at_mut(at);
        let Some((mine, behind)) = rest.split_first_mut() else { return Poll::Ready(()) };
        // An urgent task may stand before one that already holds a range.
        let blocked = before.iter().any(|other| other.overlaps(mine))
            || behind.iter().any(|other| other.granted && other.overlaps(mine));
        if blocked && !mine.granted {
            mine.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        mine.granted = true;
        Poll::Ready(())
    }

    /// Removes a task from the line, and wakes tasks that may have waited for it.
    fn leave(&self, ticket: u64) -> Option<Place> {
        let mut queue = self.queue.borrow_mut();
        let at = queue.iter().position(|place| place.ticket == ticket)?;
        let left = queue.remove(at);
        for other in queue.iter_mut().filter(|other| other.overlaps(&left)) {
            if let Some(waker) = other.waker.take() {
                waker.wake();
            }
        }
        Some(left)
    }
}

impl RangeGuard<'_> {
    async fn wait(&self) {
        future::poll_fn(|context| self.lock.poll(self.ticket, context)).await;
    }

    /// Yields the range to urgent waiters, if any, and waits to get it back before all other
    /// waiters.
    pub async fn yield_to_urgent(&self) {
        let awaited = {
            let queue = self.lock.queue.borrow();
            let mine = queue.iter().find(|place| place.ticket == self.ticket);
            mine.is_some_and(|mine| queue.iter().any(|other| other.urgent && !other.granted && other.overlaps(mine)))
        };
        if !awaited {
            return;
        }
        if let Some(mine) = self.lock.leave(self.ticket) {
            self.lock.enqueue(Place { granted: false, waker: None, ..mine }, true);
        }
        self.wait().await;
    }
}

impl Drop for RangeGuard<'_> {
    fn drop(&mut self) {
        self.lock.leave(self.ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::virtual_time::VirtualTime;
    use futures_util::future::{LocalBoxFuture, join_all};
    use std::rc::Rc;
    use std::time::Duration;

    /// Runs tasks that arrive at some millisecond, lock a range, urgently or not, and hold it for
    /// 10 ms. Returns the times when each got it.
    fn served(tasks: Vec<(u64, Range<u64>, bool)>) -> Vec<u64> {
        let time = VirtualTime::default();
        let clock = time.clone();
        time.run(async move {
            let lock = RangeLock::default();
            let one = |(come, range, urgent): (u64, Range<u64>, bool)| {
                let (clock, lock) = (&clock, &lock);
                async move {
                    clock.sleep(Duration::from_millis(come)).await;
                    let _mine = lock.enter(range, urgent).await;
                    let since = clock.now().as_millis() as u64;
                    clock.sleep(Duration::from_millis(10)).await;
                    since
                }
            };
            let times = join_all(tasks.into_iter().map(one)).await;
            assert!(lock.queue.borrow().is_empty());
            times
        })
    }

    #[test]
    fn only_ranges_that_overlap_wait_and_first_come_is_first_served() {
        let tasks = vec![(0, 0..4, false), (1, 4..8, false), (2, 3..5, false), (3, 0..1, false), (4, 4..5, false)];
        assert_eq!(served(tasks), [0, 1, 11, 10, 21]);
    }

    #[test]
    fn urgent_requests_go_first() {
        let mut tasks: Vec<_> = (0..5).map(|come| (come, 0..1, false)).collect();
        tasks.extend([(5, 0..1, true), (6, 0..1, true)]);
        assert_eq!(served(tasks), [0, 30, 40, 50, 60, 10, 20]);
    }

    #[test]
    fn the_holder_that_yields_is_next() {
        let time = VirtualTime::default();
        let clock = time.clone();
        time.run(async move {
            let (lock, order) = (RangeLock::default(), Rc::new(RefCell::new(Vec::new())));
            let wait = |ms| clock.sleep(Duration::from_millis(ms));
            let tasks: [LocalBoxFuture<'_, ()>; 3] = [
                Box::pin(async {
                    let mine = lock.lock(0..1).await;
                    wait(5).await;
                    mine.yield_to_urgent().await;
                    order.borrow_mut().push("first");
                    mine.yield_to_urgent().await;
                }),
                Box::pin(async {
                    wait(1).await;
                    let _mine = lock.lock(0..1).await;
                    order.borrow_mut().push("second");
                }),
                Box::pin(async {
                    wait(2).await;
                    let _mine = lock.lock_urgently(0..1).await;
                    wait(5).await;
                    order.borrow_mut().push("urgent");
                }),
            ];
            join_all(tasks).await;
            assert_eq!(*order.borrow(), ["urgent", "first", "second"]);
        });
    }

    #[test]
    fn an_abandoned_wait_blocks_no_other() {
        let time = VirtualTime::default();
        time.run(async {
            let lock = RangeLock::default();
            let held = lock.lock(0..10).await;
            let mut waiting = Box::pin(lock.lock(5..15));
            assert!(futures_util::FutureExt::now_or_never(&mut waiting).is_none());
            drop(waiting);
            let beside = lock.lock(10..15).await;
            drop((held, beside));
            drop(lock.lock(0..u64::MAX).await);
        });
    }
}
