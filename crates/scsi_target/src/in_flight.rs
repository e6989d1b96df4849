//! Counts commands in flight on a logical unit and lets a command wait until they are done.
//!
//! RESERVE uses it: once it has completed with GOOD status, no write or COMPARE AND WRITE of another I_T nexus that passed the
//! reservation check before may still take effect. VMware wants the two to be atomic to each other.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// The counter. One per logical unit.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    count: Cell<u32>,
    waiting: RefCell<Vec<Waker>>,
}

/// One command in flight, from [`InFlight::enter`] until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlightGuard(Rc<InFlight>);

impl InFlight {
    /// Counts a command until the guard is dropped.
    pub fn enter(self: &Rc<Self>) -> InFlightGuard {
        self.count.set(self.count.get() + 1);
        InFlightGuard(Rc::clone(self))
    }

    /// Waits until no command is in flight.
    pub async fn drained(&self) {
        poll_fn(|context| {
            if self.count.get() == 0 {
                return Poll::Ready(());
            }
            let mut waiting = self.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let count = self.0.count.get().saturating_sub(1);
        self.0.count.set(count);
        if count == 0 {
            for waker in self.0.waiting.take() {
                waker.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::Context;

    #[test]
    fn waits_for_the_last_guard() {
        let commands = Rc::new(InFlight::default());
        let guard = commands.enter();
        let mut drained = pin!(commands.drained());
        let mut context = Context::from_waker(Waker::noop());
        assert!(drained.as_mut().poll(&mut context).is_pending());
        drop(guard);
        assert!(drained.as_mut().poll(&mut context).is_ready());
    }
}
