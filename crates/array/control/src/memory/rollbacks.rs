//! Roll-backs of shares that a live array in memory was asked for.

use crate::live::ShareRollbackError;
use pool::ObjectId;
use std::cell::RefCell;

/// Roll-backs of shares.
#[derive(Debug, Default)]
pub struct MemoryRollbacks {
    /// Shares, with their snapshots.
    pub done: RefCell<Vec<(ObjectId, ObjectId)>>,
    /// Result of the next `Live::roll_back_share`, if it fails.
    pub fail: RefCell<Option<ShareRollbackError>>,
}
