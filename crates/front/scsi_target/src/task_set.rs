//! The order of commands on a logical unit by their task attributes (SAM-5 §8).
//!
//! An ORDERED command waits until everything before it on the logical unit is done, and what comes after it waits for it; a HEAD OF
//! QUEUE command waits for no other. SIMPLE commands are not ordered among each other (QUEUE ALGORITHM MODIFIER 1h). Which commands may
//! overlap on the same blocks is another question: [`unit::ExtentLocks`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll};
use unit::{InFlight, InFlightGuard, WaitQueue};

/// Task attribute, SAM-5 §8.9. The transport has refused what is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskAttribute {
    /// SIMPLE, or none at all.
    #[default]
    Simple,
    /// ORDERED.
    Ordered,
    /// HEAD OF QUEUE.
    HeadOfQueue,
    /// ACA, or a code that does not exist. There never is an auto contingent allegiance here (NORMACA 0, NACA refused), so no command can
    /// have it.
    Invalid,
}

// Attributes.

/// The task set of a logical unit, as far as attributes go.
#[derive(Debug, Default)]
pub(crate) struct TaskSet {
    in_flight: InFlight,
    /// The ORDERED command that arrived last.
    barrier: RefCell<Option<Rc<Barrier>>>,
}

/// An ORDERED command, until it is done.
#[derive(Debug, Default)]
struct Barrier {
    done: Cell<bool>,
    waiting: WaitQueue,
}

/// A place in the task set, until the command is done.
#[derive(Debug)]
pub(crate) struct TaskGuard {
    _counted: InFlightGuard,
    barrier: Option<Rc<Barrier>>,
}

/// What a command has to wait for.
#[derive(Debug)]
pub(crate) enum Wait {
    /// Nothing.
    Now,
    /// An ORDERED command before it.
    Barrier(Behind),
    /// Everything before it.
    Everything(Box<unit::Earlier>),
}

/// See [`Wait::Barrier`].
#[derive(Debug)]
pub(crate) struct Behind(Rc<Barrier>);

impl TaskSet {
    /// Takes the next place. To be called in the order in which commands arrive; the command goes on when [`Wait::poll`] is ready.
    pub fn enter(&self, attribute: TaskAttribute) -> (TaskGuard, Wait) {
        match attribute {
            TaskAttribute::HeadOfQueue => (TaskGuard { _counted: self.in_flight.enter(), barrier: None }, Wait::Now),
            TaskAttribute::Simple | TaskAttribute::Invalid => {
                let turn = match &*self.barrier.borrow() {
                    Some(barrier) if !barrier.done.get() => Wait::Barrier(Behind(Rc::clone(barrier))),
                    _ => Wait::Now,
                };
                (TaskGuard { _counted: self.in_flight.enter(), barrier: None }, turn)
            }
            TaskAttribute::Ordered => {
                let earlier = self.in_flight.earlier();
                let barrier = Rc::new(Barrier::default());
                self.barrier.replace(Some(Rc::clone(&barrier)));
                let guard = TaskGuard { _counted: self.in_flight.enter(), barrier: Some(barrier) };
                (guard, Wait::Everything(Box::new(earlier)))
            }
        }
    }
}

impl Wait {
    /// Whether the turn has come; if not, the waker is woken when it may have.
    pub fn poll(&self, context: &Context<'_>) -> Poll<()> {
        match self {
            Self::Now => Poll::Ready(()),
            Self::Barrier(Behind(barrier)) => barrier.waiting.poll(context, || barrier.done.get().then_some(())),
            Self::Everything(earlier) => earlier.poll_done(context),
        }
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        if let Some(barrier) = &self.barrier {
            barrier.done.set(true);
            barrier.waiting.wake_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    fn has_come(turn: &Wait) -> bool {
        turn.poll(&Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn an_ordered_command_is_a_barrier() {
        let set = TaskSet::default();
        let (first, turn) = set.enter(TaskAttribute::Simple);
        assert!(has_come(&turn));
        let (ordered, ordered_turn) = set.enter(TaskAttribute::Ordered);
        let (later, later_turn) = set.enter(TaskAttribute::Simple);
        let (head, head_turn) = set.enter(TaskAttribute::HeadOfQueue);
        let (second, second_turn) = set.enter(TaskAttribute::Ordered);
        assert!(!has_come(&ordered_turn) && !has_come(&later_turn) && has_come(&head_turn) && !has_come(&second_turn));
        drop(first);
        assert!(has_come(&ordered_turn) && !has_come(&later_turn));
        drop(ordered);
        assert!(has_come(&later_turn) && !has_come(&second_turn));
        drop(later);
        assert!(!has_come(&second_turn), "the head of the queue is before it, too");
        drop(head);
        assert!(has_come(&second_turn));
        drop(second);
        assert!(has_come(&set.enter(TaskAttribute::Simple).1));
    }
}
