//! Abort flag of a command: set by a task management function, a reset, a preemption, or the end of
//! its session.
//!
//! The transport and the command each hold a clone. A command that waits for other commands, or has
//! many steps, checks the flag and ends; any other command ends before the flag would matter.

use crate::wait::WaitQueue;
use std::cell::Cell;
use std::rc::Rc;
use std::task::Waker;

/// Abort flag of one command, shared by its clones.
#[derive(Clone, Debug, Default)]
pub struct AbortFlag(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    set: Cell<bool>,
    waiting: WaitQueue,
}

impl AbortFlag {
    /// Aborts the command. It may execute one more step; it has no further effect once its response
    /// is there.
    pub fn abort(&self) {
        self.0.set.set(true);
        self.0.waiting.wake_all();
    }

    /// Whether the command was aborted.
    pub fn is_set(&self) -> bool {
        self.0.set.get()
    }

    /// Whether the command was aborted; if not, the waker is woken when it is.
    pub fn is_set_or_wakes(&self, waker: &Waker) -> bool {
        if !self.is_set() {
            self.0.waiting.register(waker);
        }
        self.is_set()
    }
}
