//! Facts of an operation that the server needs beside those of `nfs::v4::operations`: statuses that it may
//! return, and the length of its results.

use crate::failure::Failure;
use crate::status;
use nfs::v4::Status;

/// Facts of an operation.
pub(crate) struct Row {
    /// Number.
    pub code: u32,
    /// Statuses that it may return beside [`ALWAYS`]: RFC 8881 §15.2, RFC 7862 §11.2, RFC 8276 §8.4.
    pub statuses: &'static [&'static [Status]],
    /// Room that the reply must have before the operation runs: for one that changes something the longest
    /// results of a success, for others the shortest. Number and status are included.
    pub reply_bytes: usize,
}

/// Length of the results of an operation that has none: number and status.
pub(super) const NO_RESULTS_BYTES: usize = 8;
/// Length of `change_info4`.
pub(super) const CHANGE_INFO_BYTES: usize = 20;

/// Length of `stateid4`.
pub(super) const STATEID_BYTES: usize = 16;

/// Statuses of every operation: of its arguments, and of the session.
pub(super) const ALWAYS: &[Status] = &[
    Status::BADXDR,
    Status::DEADSESSION,
    Status::DELAY,
    Status::NOTSUPP,
    Status::OP_NOT_IN_SESSION,
    Status::REP_TOO_BIG,
    Status::REP_TOO_BIG_TO_CACHE,
    Status::REQ_TOO_BIG,
    Status::RETRY_UNCACHED_REP,
    Status::SERVERFAULT,
    Status::TOO_MANY_OPS,
];

/// Statuses of operations that use the file of a handle.
pub(super) const HANDLE: &[Status] = &[Status::ACCESS, Status::IO, Status::NOFILEHANDLE, Status::STALE];

/// Statuses of operations that take a name.
pub(super) const NAME: &[Status] =
    &[Status::BADCHAR, Status::BADNAME, Status::INVAL, Status::NAMETOOLONG, Status::NOENT, Status::NOTDIR];

/// Statuses of operations that change something.
pub(super) const CHANGE: &[Status] = &[Status::GRACE, Status::ROFS];

/// Statuses of operations that take more space.
pub(super) const GROWTH: &[Status] = &[Status::DQUOT, Status::NOSPC];

/// Statuses of operations that take a stateid.
pub(super) const STATEID: &[Status] = &[
    Status::ADMIN_REVOKED,
    Status::BAD_STATEID,
    Status::DELEG_REVOKED,
    Status::EXPIRED,
    Status::GRACE,
    Status::INVAL,
    Status::LOCKED,
    Status::OLD_STATEID,
    Status::OPENMODE,
    Status::WRONG_TYPE,
];

impl Row {
    /// Whether the operation may return a status.
    pub fn permits(&self, status: Status) -> bool {
        ALWAYS.contains(&status) || self.statuses.iter().any(|group| group.contains(&status))
    }

    /// Status of a failure: of those that say it, the first that the operation may return, else
    /// `SERVERFAULT`. `None`: no reply.
    pub fn status(&self, failure: &Failure) -> Option<Status> {
        let one;
        let all = match failure {
            Failure::File(error) => status::v4(error)?,
            Failure::Status(status) | Failure::Refused { status, .. } => {
                one = [*status];
                &one[..]
            }
        };
        Some(all.iter().copied().find(|status| self.permits(*status)).unwrap_or(Status::SERVERFAULT))
    }
}
