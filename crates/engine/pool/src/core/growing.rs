//! State of a growth in progress.

use crate::interface::PoolError;
use crate::interface::operation::OperationId;
use media::BlockAddress;

/// Stage of a growth.
pub(super) enum Stage {
    /// Waits for the end of the checkpoint in flight, and for the counts of the last segment.
    Waiting,
    /// The medium has grown; the next checkpoint enters it.
    Extended {
        data_end: BlockAddress,
    },
    /// The checkpoint in flight enters it.
    Frozen,
    Finished,
}

/// Growth in progress.
pub(crate) struct Growing {
    pub(super) growth: media::Growth,
    pub(super) operation: OperationId,
    pub(super) stage: Stage,
    /// Answer that the operation has not yet received.
    pub(super) answer: Option<Result<(), PoolError>>,
    /// True if the operation has its answer, or gets it when it is next run.
    pub(super) answered: bool,
    pub(super) tries: u8,
}
