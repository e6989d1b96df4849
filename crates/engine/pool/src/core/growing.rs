//! A growth of the pool in progress.

use crate::interface::PoolError;
use crate::interface::operation::OperationId;

/// How far it is.
pub(super) enum Stage {
    /// For the checkpoint in flight to end, and the last segment's counts to be in memory.
    Waiting,
    /// The medium has grown; the next checkpoint tells.
    Extended {
        data_end: u64,
    },
    /// The checkpoint in flight tells.
    Frozen,
    Finished,
}

/// A growth under way.
pub(crate) struct Growing {
    pub(super) growth: media::Growth,
    pub(super) operation: OperationId,
    pub(super) stage: Stage,
    /// What the operation has still to be told.
    pub(super) answer: Option<Result<(), PoolError>>,
    /// It has been told, or will be when it is next looked at.
    pub(super) answered: bool,
    pub(super) tries: u8,
}
