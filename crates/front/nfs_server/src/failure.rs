//! Why an operation failed.

use nfs::v4::Status;
use unit::Reason;
use vfs::{FsError, NameError};

/// Why an operation failed: a status of the protocol, or an error of the file system, which becomes one
/// in `status.rs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Status of the protocol.
    Status(Status),
    /// Status of the protocol, with what is logged.
    Refused {
        status: Status,
        reason: Reason,
        /// Values that caused it.
        detail: String,
    },
    /// Error of the file system.
    File(FsError),
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl From<FsError> for Failure {
    fn from(error: FsError) -> Self {
        Self::File(error)
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        Self::File(error.into())
    }
}
