//! OFFLOAD_STATUS, RFC 7862 §15.9: progress of an asynchronous copy.

use super::context::Context;
use super::copies::Job;
use super::row::{HANDLE, Row};
use crate::failure::Failure;
use nfs::v4::offload::OffloadStatusOk;
use nfs::v4::{Stateid, Status};
use nfs_state::{Mutation, leaves_out};
use std::rc::Rc;
use vfs::FileSystem;

pub(super) const ROW: Row = Row { code: 67, statuses: &[HANDLE, COPY_STATEID], reply_bytes: 20 };

/// Statuses of operations on an asynchronous copy.
pub(super) const COPY_STATEID: &[Status] = &[
    Status::ADMIN_REVOKED,
    Status::BAD_STATEID,
    Status::COMPLETE_ALREADY,
    Status::EXPIRED,
    Status::GRACE,
    Status::OLD_STATEID,
    Status::ISDIR,
    Status::SYMLINK,
    Status::WRONG_TYPE,
];

/// Number of bytes copied so far, in order from the start; and the outcome, if the copy has ended.
///
/// `BAD_STATEID`: no copy of this client into the current file, or the client has answered its callback.
pub(super) fn execute<F: FileSystem>(context: &Context<'_, F>, stateid: &Stateid) -> Result<OffloadStatusOk, Failure> {
    let job = copy(context, stateid)?;
    let count_bytes = if leaves_out(Mutation::CopyStatus) { job.order.length_bytes } else { job.done_bytes() };
    Ok(OffloadStatusOk { count_bytes, complete: job.outcome() })
}

/// A copy of the client into the current file.
pub(super) fn copy<F: FileSystem>(context: &Context<'_, F>, stateid: &Stateid) -> Result<Rc<Job>, Failure> {
    let file = context.file()?;
    context.state().check_copy(context.client()?, stateid)?;
    let job = context.server.copies().find(stateid).ok_or(Status::BAD_STATEID)?;
    let to = job.order.to;
    if (to.object, to.file) != (file.export.share.object, file.id) {
        return Err(Status::BAD_STATEID.into());
    }
    Ok(job)
}
