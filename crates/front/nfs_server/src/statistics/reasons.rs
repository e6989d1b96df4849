//! The place where a failure becomes a reason of the log of refusals.

use crate::failure::Failure;
use nfs::v4::Status;
use unit::Reason;
use vfs::{FsError, SpaceReason};

/// Why an offload operation was refused or failed.
pub struct Refusal {
    reason: Reason,
    /// Values that caused it.
    detail: String,
}

impl Refusal {
    /// An operation ended before it was done.
    pub(crate) fn aborted(detail: String) -> Self {
        Self { reason: Reason::Aborted, detail }
    }

    pub(crate) const fn reason(&self) -> Reason {
        self.reason
    }

    /// Values that caused it.
    pub(crate) fn into_detail(self) -> String {
        self.detail
    }

    /// Refusal of an operation about `subject` that ended with a status. `failure`: its cause, if the operation ran.
    pub(crate) fn new(subject: &str, failure: Option<&Failure>, status: Status) -> Self {
        match failure {
            Some(Failure::File(error)) => Self::of_error(subject, error),
            Some(Failure::Status(status)) => Self::of_status(subject, *status),
            Some(Failure::Refused { reason, detail, .. }) => {
                Self { reason: *reason, detail: format!("{subject}: {detail}") }
            }
            None => Self::of_status(subject, status),
        }
    }

    /// Refusal of an operation about `subject` by a file system.
    pub fn of_error(subject: &str, error: &FsError) -> Self {
        Self { reason: of_error(error), detail: format!("{subject}: {error}") }
    }

    fn of_status(subject: &str, status: Status) -> Self {
        Self { reason: of_status(status), detail: format!("{subject}: {status:?}") }
    }
}

/// Reason of an error of a file system.
fn of_error(error: &FsError) -> Reason {
    match error {
        FsError::Misaligned { .. } => Reason::Misaligned,
        FsError::BeyondEnd { .. } => Reason::BeyondEnd,
        FsError::Overlap => Reason::Overlap,
        FsError::ForeignSource => Reason::CrossShare,
        FsError::ReadOnly => Reason::ReadOnly,
        FsError::Denied { .. } | FsError::NotOwner => Reason::PermissionDenied,
        FsError::NoSpace(SpaceReason::Promise) => Reason::NoSpaceForReservation,
        FsError::NoSpace(SpaceReason::Allocations) => Reason::TooManyAllocations,
        FsError::NoSpace(SpaceReason::Pool | SpaceReason::Regions | SpaceReason::Files | SpaceReason::Collisions) => {
            Reason::NoSpace
        }
        FsError::Quota => Reason::Quota,
        FsError::FileTooLarge { .. } => Reason::FileTooLarge,
        FsError::TooLong { .. } | FsError::TooManyLinks { .. } | FsError::XattrsTooLarge { .. } => Reason::OverLimit,
        FsError::IsDirectory | FsError::NotDirectory { .. } | FsError::WrongKind { .. } => Reason::WrongType,
        FsError::Stale | FsError::Gone | FsError::NotFound => Reason::StaleHandle,
        FsError::GuardMismatch { .. } | FsError::NameChanged { .. } | FsError::Replaced => Reason::TryLater,
        FsError::Name(_)
        | FsError::Exists { .. }
        | FsError::NotEmpty
        | FsError::IntoItself
        | FsError::BadRange
        | FsError::NoXattr
        | FsError::XattrExists => Reason::InvalidField,
        FsError::ReadFailed { .. } => Reason::MediaError,
        FsError::Internal { .. } => Reason::InternalError,
        FsError::Stopped { .. } => Reason::PoolStopped,
    }
}

/// Reason of a status that no error of a file system has caused. Statuses of the arguments are the rest.
fn of_status(status: Status) -> Reason {
    match status {
        Status::XDEV => Reason::CrossShare,
        Status::ROFS => Reason::ReadOnly,
        Status::ACCESS | Status::PERM => Reason::PermissionDenied,
        Status::OPENMODE => Reason::OpenMode,
        Status::BAD_STATEID | Status::OLD_STATEID | Status::EXPIRED | Status::ADMIN_REVOKED | Status::DELEG_REVOKED => {
            Reason::BadStateid
        }
        Status::LOCKED => Reason::Locked,
        Status::ISDIR | Status::SYMLINK | Status::WRONG_TYPE => Reason::WrongType,
        Status::STALE => Reason::StaleHandle,
        Status::FBIG => Reason::FileTooLarge,
        Status::GRACE | Status::DELAY => Reason::TryLater,
        Status::COMPLETE_ALREADY => Reason::BadStateid,
        Status::NOTSUPP | Status::UNION_NOTSUPP => Reason::Unsupported,
        Status::REP_TOO_BIG | Status::REP_TOO_BIG_TO_CACHE | Status::REQ_TOO_BIG => Reason::OverLimit,
        Status::SERVERFAULT => Reason::InternalError,
        _ => Reason::InvalidField,
    }
}
