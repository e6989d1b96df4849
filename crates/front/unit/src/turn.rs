//! Fair mutual exclusion for changes such as those of a volume's reservations: first come, first
//! served.

use crate::wait::WaitQueue;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Fair lock.
#[derive(Debug, Default)]
pub struct Turn {
    next_ticket: Cell<u64>,
    /// Tickets in order; the first one has the lock.
    tickets: RefCell<VecDeque<u64>>,
    waiting: WaitQueue,
}

/// Place in the queue, and at its head the lock, until this is dropped.
#[derive(Debug)]
pub struct TurnGuard<'a> {
    turn: &'a Turn,
    ticket: u64,
}

impl Turn {
    /// Waits for the lock.
    pub async fn take(&self) -> TurnGuard<'_> {
        let ticket = self.next_ticket.get();
        self.next_ticket.set(ticket + 1);
        self.tickets.borrow_mut().push_back(ticket);
        let place = TurnGuard { turn: self, ticket };
        self.waiting.until(|| (self.tickets.borrow().front() == Some(&ticket)).then_some(())).await;
        place
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        self.turn.tickets.borrow_mut().retain(|ticket| *ticket != self.ticket);
        self.turn.waiting.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn each_waits_for_the_one_before() {
        let turn = Turn::default();
        let context = &mut Context::from_waker(Waker::noop());
        let Poll::Ready(first) = pin!(turn.take()).poll(context) else { panic!("the turn is free") };
        let mut second = Box::pin(turn.take());
        let mut third = Box::pin(turn.take());
        assert!(second.as_mut().poll(context).is_pending());
        assert!(third.as_mut().poll(context).is_pending());
        drop(first);
        assert!(third.as_mut().poll(context).is_pending(), "the second came before");
        drop(second);
        let Poll::Ready(third) = third.as_mut().poll(context) else { panic!("none is before it") };
        drop(third);
        assert!(pin!(turn.take()).poll(context).is_ready());
    }
}
