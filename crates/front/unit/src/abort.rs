//! How a command hears that it was aborted: by ABORT TASK and its kin, a reset, PREEMPT AND ABORT, or because its session ends.
//!
//! The transport keeps one end, the command the other. A command that waits for others, or has many steps, looks at it and ends; any other is done
//! before it would matter.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

/// Whether a command was aborted. Clones are of the same command.
#[derive(Clone, Debug, Default)]
pub struct AbortFlag(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    set: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

impl AbortFlag {
    /// Aborts the command. It may take another step; who wants to know that it has no effect any more waits for its response.
    pub fn abort(&self) {
        self.0.set.set(true);
        for waker in self.0.waiting.take() {
            waker.wake();
        }
    }

    /// Whether it was aborted.
    pub fn is_set(&self) -> bool {
        self.0.set.get()
    }

    /// Whether it was aborted; if not, the waker is woken when it is.
    pub fn is_set_or_wakes(&self, waker: &Waker) -> bool {
        if self.is_set() {
            return true;
        }
        let mut waiting = self.0.waiting.borrow_mut();
        if !waiting.iter().any(|other| other.will_wake(waker)) {
            waiting.push(waker.clone());
        }
        false
    }
}
