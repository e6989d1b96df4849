//! State of schedules in memory.

use std::cell::RefCell;
use std::collections::BTreeSet;
use uuid::Uuid;

/// State of schedules that a restart rebuilds.
#[derive(Default)]
pub(crate) struct Schedules {
    /// Schedules whose snapshots may have to go: those with a run since the last look at their rules.
    unretired: RefCell<BTreeSet<Uuid>>,
}

impl Schedules {
    /// State at the start: the rules of every schedule may have been left half-applied.
    pub fn new(all: impl Iterator<Item = Uuid>) -> Self {
        Self { unretired: RefCell::new(all.collect()) }
    }

    /// Notes that snapshots of a schedule may have to go.
    pub(crate) fn note(&self, schedule: Uuid) {
        self.unretired.borrow_mut().insert(schedule);
    }

    /// Notes that none has to go.
    pub(super) fn retired(&self, schedule: Uuid) {
        self.unretired.borrow_mut().remove(&schedule);
    }

    /// Schedules whose snapshots may have to go.
    pub(super) fn unretired(&self) -> Vec<Uuid> {
        self.unretired.borrow().iter().copied().collect()
    }
}
