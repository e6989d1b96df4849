//! Where a failure of the pool becomes one of the engine of files.

use block::BlockError;
use files::{EngineError, Object};
use pool::{Failure, PoolError};

/// The failure as `files` knows it. There is no arm for all others: a new failure has to choose.
pub(crate) fn engine_error(failure: Failure) -> EngineError {
    match failure {
        Failure::Unreadable { object, block } => EngineError::Damaged { object: Object(object.0), block: block.get() },
        Failure::Block(error) => of_block(error),
        Failure::Pool(error) => of_pool(error),
    }
}

fn of_block(error: BlockError) -> EngineError {
    match error {
        BlockError::PoolFull => EngineError::NoSpace,
        BlockError::Gone => EngineError::Gone,
        BlockError::ReadOnly => EngineError::ReadOnly,
        BlockError::PoolStopped { reason } => EngineError::Stopped { reason },
        BlockError::OutOfRange { .. }
        | BlockError::TooLong { .. }
        | BlockError::ReadFailed { .. }
        | BlockError::SourceReadFailed { .. }
        | BlockError::Internal { .. }
        | BlockError::ForeignSource => EngineError::Internal { reason: error.to_string() },
    }
}

fn of_pool(error: PoolError) -> EngineError {
    match error {
        PoolError::PoolFull | PoolError::NoRoomForReservation { .. } => EngineError::NoSpace,
        PoolError::AboveCeiling { .. } => EngineError::Ceiling,
        PoolError::NoSuchObject(_) => EngineError::Gone,
        PoolError::Stopped(reason) => EngineError::Stopped { reason },
        PoolError::ObjectExists(_)
        | PoolError::BadSize { .. }
        | PoolError::BadDocument { .. }
        | PoolError::BadReservation { .. }
        | PoolError::BadCeiling { .. }
        | PoolError::Locked { .. }
        | PoolError::NoSnapshot(_)
        | PoolError::NoVolume(_)
        | PoolError::DifferenceEnded(_)
        | PoolError::CannotGrow(_)
        | PoolError::Busy(_)
        | PoolError::Damaged(_) => EngineError::Internal { reason: error.to_string() },
    }
}
