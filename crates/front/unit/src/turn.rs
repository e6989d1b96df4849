//! One at a time: the right to change the reservations of a logical unit. First come, first served.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

#[derive(Debug, Default)]
struct Queue {
    taken: bool,
    next_ticket: u64,
    /// Those who wait, in order; a waker once they were polled.
    waiting: VecDeque<(u64, Waker)>,
}

/// The right.
#[derive(Debug, Default)]
pub struct Turn(RefCell<Queue>);

/// The right is taken, until this is dropped.
#[derive(Debug)]
pub struct TurnGuard<'a>(&'a Turn);

/// A place in the queue; dropped with the future that waits.
struct Place<'a> {
    turn: &'a Turn,
    ticket: u64,
}

impl Turn {
    /// Waits for the right.
    pub async fn take(&self) -> TurnGuard<'_> {
        let ticket = {
            let mut queue = self.0.borrow_mut();
            queue.next_ticket += 1;
            queue.next_ticket
        };
        let place = Place { turn: self, ticket };
        poll_fn(|context| {
            let mut queue = self.0.borrow_mut();
            let first = queue.waiting.front().is_none_or(|(front, _)| *front == ticket);
            if !queue.taken && first {
                queue.taken = true;
                return Poll::Ready(());
            }
            match queue.waiting.iter_mut().find(|(waiting, _)| *waiting == ticket) {
                Some((_, waker)) => waker.clone_from(context.waker()),
                None => queue.waiting.push_back((ticket, context.waker().clone())),
            }
            Poll::Pending
        })
        .await;
        drop(place);
        TurnGuard(self)
    }

    fn wake_first(&self) {
        let queue = self.0.borrow();
        if !queue.taken
            && let Some((_, waker)) = queue.waiting.front()
        {
            waker.wake_by_ref();
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.turn.0.borrow_mut().waiting.retain(|(ticket, _)| *ticket != self.ticket);
        self.turn.wake_first();
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        self.0.0.borrow_mut().taken = false;
        self.0.wake_first();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::Context;

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
        let Poll::Ready(third) = third.as_mut().poll(context) else { panic!("nobody is before it") };
        drop(third);
        assert!(pin!(turn.take()).poll(context).is_ready());
    }
}
