//! Commands in flight: the waiter of each, and the time since when it waits. A command needs no
//! clock reading and no allocation.

use crate::session::Inner;
use iscsi::initiator::Completion;
use rustc_hash::FxHashMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Ticks of the driver's clock within the time limit of a command.
pub(crate) const TICKS: u32 = 8;

#[derive(Debug)]
enum Slot {
    Waiting {
        since: u32,
        waker: Option<Waker>,
    },
    /// Abandoned and not answered: the command may still take effect.
    Forgotten,
    Done(Completion),
}

/// Table of the commands in flight.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    slots: FxHashMap<u32, Slot>,
    tick: u32,
}

impl InFlight {
    pub(crate) fn insert(&mut self, tag: u32) {
        self.slots.insert(tag, Slot::Waiting { since: self.tick, waker: None });
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.values().filter(|slot| !matches!(slot, Slot::Done(_))).count()
    }

    /// Records an answer; it is discarded if the future of the command was dropped.
    pub(crate) fn complete(&mut self, completion: Completion) {
        let tag = completion.initiator_task_tag;
        match self.slots.get_mut(&tag) {
            Some(slot @ Slot::Waiting { .. }) => {
                if let Slot::Waiting { waker: Some(waker), .. } = std::mem::replace(slot, Slot::Done(completion)) {
                    waker.wake();
                }
            }
            Some(Slot::Forgotten) => {
                self.slots.remove(&tag);
            }
            Some(Slot::Done(_)) | None => {}
        }
    }

    /// Abandons a command. It counts as in flight until its answer comes.
    fn forget(&mut self, tag: u32) {
        match self.slots.get_mut(&tag) {
            Some(slot @ Slot::Waiting { .. }) => *slot = Slot::Forgotten,
            Some(Slot::Done(_)) => {
                self.slots.remove(&tag);
            }
            Some(Slot::Forgotten) | None => {}
        }
    }

    /// Ends all waiting commands without an answer, because the session is lost.
    pub(crate) fn end(&mut self) {
        for slot in std::mem::take(&mut self.slots).into_values() {
            if let Slot::Waiting { waker: Some(waker), .. } = slot {
                waker.wake();
            }
        }
    }

    /// Advances the clock by one tick. Returns true when a command has waited for more than
    /// [`TICKS`] whole ticks.
    pub(crate) fn tick(&mut self) -> bool {
        self.tick = self.tick.wrapping_add(1);
        let now = self.tick;
        self.slots.values().any(|slot| matches!(slot, Slot::Waiting { since, .. } if now.wrapping_sub(*since) > TICKS))
    }
}

/// Future of the answer to a command; `None` when the session was lost before. Dropping it abandons
/// the command.
pub(crate) struct Answer<'a> {
    inner: &'a Inner,
    tag: u32,
}

impl<'a> Answer<'a> {
    pub(crate) fn new(inner: &'a Inner, tag: u32) -> Self {
        Self { inner, tag }
    }
}

impl Future for Answer<'_> {
    type Output = Option<Completion>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut in_flight = self.inner.in_flight.borrow_mut();
        match in_flight.slots.get_mut(&self.tag) {
            None => Poll::Ready(None),
            Some(Slot::Waiting { waker: Some(waker), .. }) => {
                waker.clone_from(context.waker());
                Poll::Pending
            }
            Some(Slot::Waiting { waker, .. }) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            Some(Slot::Forgotten) => Poll::Ready(None),
            Some(Slot::Done(_)) => match in_flight.slots.remove(&self.tag) {
                Some(Slot::Done(completion)) => Poll::Ready(Some(completion)),
                _ => Poll::Ready(None),
            },
        }
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        self.inner.in_flight.borrow_mut().forget(self.tag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgotten_command_counts_until_it_is_answered() {
        let mut in_flight = InFlight::default();
        in_flight.insert(7);
        in_flight.insert(8);
        in_flight.forget(7);
        in_flight.forget(7);
        assert_eq!(in_flight.len(), 2);
        let answer = |initiator_task_tag| Completion {
            initiator_task_tag,
            response: 0,
            status: 0,
            sense: bytes::Bytes::new(),
            data_in: bytes::Bytes::new(),
            residual: 0,
        };
        in_flight.complete(answer(7));
        in_flight.complete(answer(8));
        assert_eq!((in_flight.len(), in_flight.slots.len()), (0, 1));
        in_flight.forget(8);
        assert!(in_flight.slots.is_empty());
        // An answer that never comes ends with the session.
        in_flight.insert(9);
        in_flight.forget(9);
        in_flight.end();
        assert_eq!(in_flight.len(), 0);
    }

    #[test]
    fn a_command_is_late_after_its_whole_time() {
        let mut in_flight = InFlight::default();
        assert!(!in_flight.tick());
        in_flight.insert(7);
        assert!((0..TICKS).all(|_| !in_flight.tick()));
        assert!(in_flight.tick());
        in_flight.end();
        assert!(!in_flight.tick() && in_flight.len() == 0);
    }
}
