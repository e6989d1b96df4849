//! Order of commands on a logical unit by task attribute (SAM-5 §8).
//!
//! An ORDERED command waits until every earlier command on the logical unit has ended, and later
//! commands wait for it. A HEAD OF QUEUE command waits for no other. SIMPLE commands are not
//! ordered among each other (QUEUE ALGORITHM MODIFIER 1h). [`unit::ExtentLocks`] decides which
//! commands may overlap on the same blocks.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll};
use unit::{InFlight, InFlightGuard, WaitQueue};

/// Task attribute, SAM-5 §8.9.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskAttribute {
    /// SIMPLE, or untagged.
    #[default]
    Simple,
    /// ORDERED.
    Ordered,
    /// HEAD OF QUEUE.
    HeadOfQueue,
    /// ACA, or a code that does not exist. An auto contingent allegiance never exists here (NORMACA
    /// 0, NACA refused), so no command can have this attribute.
    Invalid,
}

// Attributes.

/// Task set of a logical unit, as far as task attributes are concerned.
#[derive(Debug, Default)]
pub(crate) struct TaskSet {
    in_flight: InFlight,
    /// Last ORDERED command that arrived.
    barrier: RefCell<Option<Rc<Barrier>>>,
}

/// ORDERED command, until it is done.
#[derive(Debug, Default)]
struct Barrier {
    done: Cell<bool>,
    waiting: WaitQueue,
}

/// Place in the task set, until the command is done.
#[derive(Debug)]
pub(crate) struct TaskGuard {
    _counted: InFlightGuard,
    barrier: Option<Rc<Barrier>>,
}

/// Condition that a command waits for.
#[derive(Debug)]
pub(crate) enum Wait {
    /// No wait.
    Now,
    /// An earlier ORDERED command.
    Barrier(Behind),
    /// All earlier commands.
    Everything(Box<unit::Earlier>),
}

/// Payload of [`Wait::Barrier`].
#[derive(Debug)]
pub(crate) struct Behind(Rc<Barrier>);

impl TaskSet {
    /// Takes the next place. To be called in the order in which commands arrive; the command may
    /// start when [`Wait::poll`] is ready.
    pub fn enter(&self, attribute: TaskAttribute) -> (TaskGuard, Wait) {
        match attribute {
            TaskAttribute::HeadOfQueue => (TaskGuard { _counted: self.in_flight.enter(), barrier: None }, Wait::Now),
            TaskAttribute::Simple | TaskAttribute::Invalid => {
                let wait = match &*self.barrier.borrow() {
                    Some(barrier) if !barrier.done.get() => Wait::Barrier(Behind(Rc::clone(barrier))),
                    _ => Wait::Now,
                };
                (TaskGuard { _counted: self.in_flight.enter(), barrier: None }, wait)
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
    /// Ready when the command may start; otherwise the waker is woken when that may have changed.
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

    fn is_over(wait: &Wait) -> bool {
        wait.poll(&Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn an_ordered_command_is_a_barrier() {
        let set = TaskSet::default();
        let (first, wait) = set.enter(TaskAttribute::Simple);
        assert!(is_over(&wait));
        let (ordered, ordered_wait) = set.enter(TaskAttribute::Ordered);
        let (later, later_wait) = set.enter(TaskAttribute::Simple);
        let (head, head_wait) = set.enter(TaskAttribute::HeadOfQueue);
        let (second, second_wait) = set.enter(TaskAttribute::Ordered);
        assert!(!is_over(&ordered_wait) && !is_over(&later_wait) && is_over(&head_wait) && !is_over(&second_wait));
        drop(first);
        assert!(is_over(&ordered_wait) && !is_over(&later_wait));
        drop(ordered);
        assert!(is_over(&later_wait) && !is_over(&second_wait));
        drop(later);
        assert!(!is_over(&second_wait), "the head of the queue is before it, too");
        drop(head);
        assert!(is_over(&second_wait));
        drop(second);
        assert!(is_over(&set.enter(TaskAttribute::Simple).1));
    }
}
