//! How a command learns that it was aborted: by a task management function, a reset, a preemption, or the end of its session.
//!
//! The transport keeps one end, the command the other. A command that waits for others, or has many steps, looks at the flag and ends; any
//! other is done before it would matter.

use crate::wait::WaitQueue;
use std::cell::Cell;
use std::rc::Rc;
use std::task::Waker;

/// Whether a command was aborted. Clones are of the same command.
#[derive(Clone, Debug, Default)]
pub struct AbortFlag(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    set: Cell<bool>,
    waiting: WaitQueue,
}

impl AbortFlag {
    /// Aborts the command. It may take another step: it can have no effect any more when its response is there.
    pub fn abort(&self) {
        self.0.set.set(true);
        self.0.waiting.wake_all();
    }

    /// Whether it was aborted.
    pub fn is_set(&self) -> bool {
        self.0.set.get()
    }

    /// Whether it was aborted; if not, the waker is woken when it is.
    pub fn is_set_or_wakes(&self, waker: &Waker) -> bool {
        if !self.is_set() {
            self.0.waiting.register(waker);
        }
        self.is_set()
    }
}
