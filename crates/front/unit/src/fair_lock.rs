//! Fair mutual exclusion for changes such as those of a volume's reservations: first come, first
//! served.

use crate::wait::WaitQueue;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Fair lock.
#[derive(Debug, Default)]
pub struct FairLock {
    next_ticket: Cell<u64>,
    /// Tickets in order; the first one has the lock.
    tickets: RefCell<VecDeque<u64>>,
    waiting: WaitQueue,
}

/// Place in the queue, and at its head the lock, until this is dropped.
#[derive(Debug)]
pub struct FairLockGuard<'a> {
    lock: &'a FairLock,
    ticket: u64,
}

impl FairLock {
    /// Waits for the lock.
    pub async fn lock(&self) -> FairLockGuard<'_> {
        let ticket = self.next_ticket.get();
        self.next_ticket.set(ticket + 1);
        self.tickets.borrow_mut().push_back(ticket);
        let place = FairLockGuard { lock: self, ticket };
        self.waiting.until(|| (self.tickets.borrow().front() == Some(&ticket)).then_some(())).await;
        place
    }
}

impl Drop for FairLockGuard<'_> {
    fn drop(&mut self) {
        self.lock.tickets.borrow_mut().retain(|ticket| *ticket != self.ticket);
        self.lock.waiting.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn each_waits_for_the_one_before() {
        let lock = FairLock::default();
        let context = &mut Context::from_waker(Waker::noop());
        let Poll::Ready(first) = pin!(lock.lock()).poll(context) else { panic!("the lock is free") };
        let mut second = Box::pin(lock.lock());
        let mut third = Box::pin(lock.lock());
        assert!(second.as_mut().poll(context).is_pending());
        assert!(third.as_mut().poll(context).is_pending());
        drop(first);
        assert!(third.as_mut().poll(context).is_pending(), "the second came before");
        drop(second);
        let Poll::Ready(third) = third.as_mut().poll(context) else { panic!("none is before it") };
        drop(third);
        assert!(pin!(lock.lock()).poll(context).is_ready());
    }
}
