//! Why a procedure failed, and the attributes that its reply contains all the same.

use crate::status;
use nfs::v3::{self, Attributes, LinkWcc, RenameWcc, Status, WccData};
use vfs::{FsError, NameError};

/// Why a procedure failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Condition of the protocol.
    Status(Status),
    /// Error of the file system, which becomes a status in `status.rs`.
    File(FsError),
}

impl Reason {
    /// Failure with attributes.
    pub fn with<D>(self, details: D) -> Failed<D> {
        Failed { reason: self, details }
    }
}

impl From<Status> for Reason {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl From<FsError> for Reason {
    fn from(error: FsError) -> Self {
        Self::File(error)
    }
}

impl From<NameError> for Reason {
    fn from(error: NameError) -> Self {
        Self::File(error.into())
    }
}

/// Failure with attributes of the files that the procedure is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed<D> {
    /// Reason.
    pub reason: Reason,
    /// Attributes, as far as they are known.
    pub details: D,
}

/// Attributes in the results of a procedure that failed.
pub(crate) trait Details {
    /// None is known: the handle led to no file, or to one that the caller may not use.
    fn unknown() -> Self;
}

const UNKNOWN: WccData = WccData { before: None, after: None };

impl Details for () {
    fn unknown() -> Self {}
}

impl Details for Option<Attributes> {
    fn unknown() -> Self {
        None
    }
}

impl Details for WccData {
    fn unknown() -> Self {
        UNKNOWN
    }
}

impl Details for RenameWcc {
    fn unknown() -> Self {
        Self { from: UNKNOWN, to: UNKNOWN }
    }
}

impl Details for LinkWcc {
    fn unknown() -> Self {
        Self { attributes: None, wcc: UNKNOWN }
    }
}

impl<D: Details> From<Status> for Failed<D> {
    fn from(status: Status) -> Self {
        Reason::from(status).with(D::unknown())
    }
}

/// Results of a procedure.
pub(crate) type Outcome<T, D> = Result<T, Failed<D>>;

/// The outcome of a call is not known: the pool has stopped. It gets no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unknown;

/// Status of a failure.
pub(crate) fn status(reason: &Reason) -> Result<Status, Unknown> {
    match reason {
        Reason::Status(status) => Ok(*status),
        Reason::File(error) => status::v3(error).ok_or(Unknown),
    }
}

/// Results on the wire.
pub(crate) fn settle<T, D>(outcome: Outcome<T, D>) -> Result<Result<T, v3::Failure<D>>, Unknown> {
    match outcome {
        Ok(results) => Ok(Ok(results)),
        Err(Failed { reason, details }) => Ok(Err(v3::Failure { status: status(&reason)?, details })),
    }
}
