//! LOCK, RFC 8881 §18.10.

use super::context::Context;
use super::object::File;
use super::row::{HANDLE, NO_RESULTS_BYTES, Row, STATEID, STATEID_BYTES};
use crate::failure::Failure;
use nfs::v4::locks::{ExistingLockOwner, LockArguments, LockFailure, Locker, OpenToLockOwner};
use nfs::v4::{Stateid, Status};
use vfs::{FileSystem, FsError};

/// Statuses of LOCK and LOCKT about kinds of files and ranges.
pub(super) const LOCKS: &[Status] = &[
    Status::BAD_RANGE,
    Status::DENIED,
    Status::GRACE,
    Status::INVAL,
    Status::ISDIR,
    Status::LOCK_RANGE,
    Status::ROFS,
    Status::SYMLINK,
    Status::WRONG_TYPE,
];

pub(super) const ROW: Row = Row {
    code: 12,
    statuses: &[
        HANDLE,
        STATEID,
        LOCKS,
        &[Status::DEADLOCK, Status::NO_GRACE, Status::RECLAIM_BAD, Status::RECLAIM_CONFLICT],
    ],
    reply_bytes: NO_RESULTS_BYTES + STATEID_BYTES,
};

/// Locks bytes of the current file, or tells the lock that is in the way. It never waits.
pub(super) async fn execute<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &LockArguments,
) -> Result<Result<Stateid, LockFailure>, Failure> {
    let file = regular_file(context).await?;
    let resolve = |stateid| context.stateids.resolve(stateid);
    let locker = match &arguments.locker {
        Locker::Existing(existing) => {
            Locker::Existing(ExistingLockOwner { stateid: resolve(&existing.stateid)?, ..existing.clone() })
        }
        Locker::New(new) => Locker::New(OpenToLockOwner { open_stateid: resolve(&new.open_stateid)?, ..new.clone() }),
    };
    let arguments = LockArguments { locker, ..arguments.clone() };
    let locked = context.state().lock(context.client()?, &file.key(), &arguments, context.uptime());
    if let Ok(stateid) = &locked {
        context.stateids.set(*stateid);
    }
    Ok(locked)
}

/// The current file, if it is a regular one.
pub(super) async fn regular_file<F: FileSystem>(context: &Context<'_, F>) -> Result<File<F>, Failure> {
    let file = context.file()?;
    FsError::need_file(file.export.files().attributes(file.id).await?.kind)?;
    Ok(file)
}
