//! What the locks of a pool hold.

use jiff::Timestamp;
use std::cell::Cell;

/// What is known of the locks.
#[derive(Default)]
pub(super) struct LocksFill(pub(super) Cell<Option<(Timestamp, Held)>>);

/// Bytes of the pool, by what may be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// Size of the pool.
    pub size: u64,
    /// Used or promised.
    pub used: u64,
    /// Freed by deleting all snapshots that are not locked and all of the trash that is not.
    pub others: u64,
    /// Freed by deleting what is locked, too.
    pub locked: u64,
}
