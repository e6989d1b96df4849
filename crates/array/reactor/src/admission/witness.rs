//! What a simulation has seen of commands that wait, apart from the queues themselves.

use super::Arrived;
use block::VolumeId;
use qos::{Class, Ticket};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Witness {
    /// Commands that wait, as their connections know.
    waiting: Cell<usize>,
    /// Last command of each connection and volume that began after it had waited.
    last: RefCell<FxHashMap<(u64, VolumeId), Ticket>>,
    /// What was wrong first.
    wrong: RefCell<Option<String>>,
}

impl Witness {
    /// A command begins to wait.
    pub fn waits(&self) {
        self.waiting.set(self.waiting.get() + 1);
    }

    /// A command was released or aborted.
    pub fn waits_no_longer(&self) {
        self.waiting.set(self.waiting.get().saturating_sub(1));
    }

    /// A command begins that has waited.
    pub fn begins(&self, arrived: &Arrived, ticket: Ticket) {
        let Some(connection) = arrived.connection.filter(|_| arrived.class != Class::First) else { return };
        let before = self.last.borrow_mut().insert((connection, arrived.volume), ticket);
        if let Some(before) = before.filter(|before| *before > ticket) {
            self.wrong.borrow_mut().get_or_insert(format!("{ticket:?} begins after {before:?}"));
        }
    }

    /// `waiting`: number of commands in the queues.
    pub fn check(&self, waiting: usize) -> Result<(), String> {
        if self.waiting.get() != waiting {
            return Err(format!("{waiting} commands are in the queues of limits, but {} wait", self.waiting.get()));
        }
        self.wrong.borrow().clone().map_or(Ok(()), Err)
    }
}
