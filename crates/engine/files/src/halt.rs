//! End of an attempt before its result.

use crate::engine::Missing;
use vfs::{FileId, FsError};

/// Reason why an attempt ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// Something is not in memory.
    Wait,
    /// No file number or change value is left below the stored high waters.
    Exhausted,
    /// The call is refused.
    Refused(FsError),
}

/// Result of a part of an attempt.
pub(crate) type Step<T> = Result<T, Halt>;

impl From<FsError> for Halt {
    fn from(error: FsError) -> Self {
        Self::Refused(error)
    }
}

/// Damage in a file.
pub(crate) const fn damaged(file: FileId) -> FsError {
    FsError::ReadFailed { file, offset_bytes: None }
}

impl Missing {
    /// End of an attempt that looked at a part of this file.
    pub(crate) const fn of(self, file: FileId) -> Halt {
        match self {
            Self::Wait => Halt::Wait,
            Self::Damaged => Halt::Refused(damaged(file)),
        }
    }
}
