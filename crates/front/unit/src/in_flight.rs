//! Commands in flight on a volume, and the wait until earlier ones have ended.
//!
//! Reservations use it: once a change of them has completed, no write of another client that passed
//! the reservation check earlier may still take effect (VMware wants check and write to be atomic).
//! Commands admitted later are not waited for, so a steady stream of writes does not delay a
//! reservation.

use crate::wait::WaitQueue;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Counter of commands in flight, one for each volume.
#[derive(Debug, Default)]
pub struct InFlight {
    /// Commands that entered since the last wait began.
    now: RefCell<Rc<Batch>>,
    /// Earlier batches that still have commands in flight.
    earlier: RefCell<Vec<Rc<Batch>>>,
}

/// Commands that were admitted between two waits.
#[derive(Debug, Default)]
struct Batch {
    count: Cell<u32>,
    waiting: WaitQueue,
}

/// Entry of one command in flight, from [`InFlight::enter`] until it is dropped.
#[derive(Debug)]
pub struct InFlightGuard(Rc<Batch>);

impl InFlight {
    /// Counts a command until the guard is dropped.
    pub fn enter(&self) -> InFlightGuard {
        let batch = Rc::clone(&self.now.borrow());
        batch.count.set(batch.count.get() + 1);
        InFlightGuard(batch)
    }

    /// Waits until every command has ended that was in flight when this was first polled.
    pub async fn drained(&self) {
        let earlier = self.earlier();
        poll_fn(|context| earlier.poll_done(context)).await;
    }

    /// Returns the commands that are in flight now.
    pub fn earlier(&self) -> Earlier {
        Earlier(self.seal())
    }

    /// Closes the current batch and returns all batches in flight; later commands enter a new
    /// batch.
    fn seal(&self) -> Vec<Rc<Batch>> {
        let mut earlier = self.earlier.borrow_mut();
        earlier.retain(|batch| batch.count.get() > 0);
        if self.now.borrow().count.get() > 0 {
            earlier.push(self.now.replace(Rc::default()));
        }
        earlier.clone()
    }
}

/// Commands that were in flight when the wait began.
#[derive(Debug)]
pub struct Earlier(Vec<Rc<Batch>>);

impl Earlier {
    /// Ready when all of them have ended; otherwise the waker is woken when more have.
    pub fn poll_done(&self, context: &Context<'_>) -> Poll<()> {
        for batch in &self.0 {
            if batch.count.get() == 0 {
                continue;
            }
            batch.waiting.register(context.waker());
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let count = self.0.count.get().saturating_sub(1);
        self.0.count.set(count);
        if count == 0 {
            self.0.waiting.wake_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::Waker;

    #[test]
    fn waits_for_those_before_and_not_for_those_after() {
        let commands = InFlight::default();
        let context = &mut Context::from_waker(Waker::noop());
        let first = commands.enter();
        let mut early = pin!(commands.drained());
        assert!(early.as_mut().poll(context).is_pending());
        let second = commands.enter();
        let mut late = pin!(commands.drained());
        assert!(late.as_mut().poll(context).is_pending());
        let third = commands.enter();
        drop(first);
        assert!(early.as_mut().poll(context).is_ready());
        assert!(late.as_mut().poll(context).is_pending());
        drop(second);
        assert!(late.as_mut().poll(context).is_ready());
        drop(third);
        assert!(pin!(commands.drained()).as_mut().poll(context).is_ready());
    }
}
