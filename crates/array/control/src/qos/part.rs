//! Volumes and hosts whose commands wait for long.

use jiff::Timestamp;
use std::cell::RefCell;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Volume or host whose commands wait for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slow {
    Volume(Uuid),
    Host(Uuid),
}

/// Volumes and hosts whose commands wait for long, with the time since when.
#[derive(Debug, Default)]
pub(crate) struct LimitWatch(RefCell<BTreeMap<Slow, Timestamp>>);

impl LimitWatch {
    /// True if none does.
    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// All of them, in order.
    pub(super) fn all(&self) -> Vec<(Slow, Timestamp)> {
        self.0.borrow().iter().map(|(slow, since)| (*slow, *since)).collect()
    }

    /// Replaces what waits for long.
    pub(super) fn set(&self, slow: Vec<(Slow, Timestamp)>) {
        let mut known = self.0.borrow_mut();
        *known = slow.into_iter().map(|(slow, since)| (slow, known.get(&slow).copied().unwrap_or(since))).collect();
    }
}
