//! Commands in flight on a volume, and the wait until those before are done.
//!
//! Reservations use it: once a change of them has completed, no write of another client that passed the reservation check before may
//! still take effect (VMware wants the two to be atomic to each other). Commands that are admitted later are not waited for, so writes
//! that never cease do not hold up a reservation.

use crate::wait::WaitQueue;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

/// The counter, one for each volume.
#[derive(Debug, Default)]
pub struct InFlight {
    /// Commands that entered since the last wait began.
    now: RefCell<Rc<Batch>>,
    /// Those before that are not all done.
    earlier: RefCell<Vec<Rc<Batch>>>,
}

/// Commands that were admitted between two waits.
#[derive(Debug, Default)]
struct Batch {
    count: Cell<u32>,
    waiting: WaitQueue,
}

/// One command in flight, from [`InFlight::enter`] until it is dropped.
#[derive(Debug)]
pub struct InFlightGuard(Rc<Batch>);

impl InFlight {
    /// Counts a command until the guard is dropped.
    pub fn enter(&self) -> InFlightGuard {
        let batch = Rc::clone(&self.now.borrow());
        batch.count.set(batch.count.get() + 1);
        InFlightGuard(batch)
    }

    /// Waits until no command is in flight that had entered when this was first polled.
    pub async fn drained(&self) {
        let earlier = self.earlier();
        poll_fn(|context| earlier.poll_done(context)).await;
    }

    /// The commands that are in flight now.
    pub fn earlier(&self) -> Earlier {
        Earlier(self.seal())
    }

    /// Everything in flight; what enters from now on is counted apart.
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
    /// Whether all of them are done; if not, the waker is woken when more of them are.
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
