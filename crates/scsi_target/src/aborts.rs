//! How often the tasks of an I_T nexus were aborted from outside: what a command that waits for others looks at.

use std::cell::{Cell, RefCell};
use std::task::Waker;

/// The count, and those who wait for it to change.
#[derive(Debug, Default)]
pub(crate) struct Aborts {
    count: Cell<u64>,
    waiting: RefCell<Vec<Waker>>,
}

impl Aborts {
    /// How often so far.
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    /// Once more.
    pub fn abort(&self) {
        self.count.set(self.count.get() + 1);
        for waker in self.waiting.take() {
            waker.wake();
        }
    }

    /// Whether tasks were aborted since the count was `before`; if not, the waker is woken when they are.
    pub fn is_after(&self, before: u64, waker: &Waker) -> bool {
        if self.count.get() != before {
            return true;
        }
        let mut waiting = self.waiting.borrow_mut();
        if !waiting.iter().any(|other| other.will_wake(waker)) {
            waiting.push(waker.clone());
        }
        false
    }
}
