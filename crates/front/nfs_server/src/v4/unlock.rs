//! LOCKU, RFC 8881 §18.12.

use super::close::no_directory;
use super::context::Context;
use super::row::{HANDLE, NO_RESULTS_BYTES, Row, STATEID, STATEID_BYTES};
use crate::failure::Failure;
use nfs::v4::locks::UnlockArguments;
use nfs::v4::{Stateid, Status};
use vfs::FileSystem;

pub(super) const ROW: Row = Row {
    code: 14,
    statuses: &[HANDLE, STATEID, &[Status::BAD_RANGE, Status::LOCK_RANGE]],
    reply_bytes: NO_RESULTS_BYTES + STATEID_BYTES,
};

/// Unlocks bytes of the current file.
pub(super) fn execute<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &UnlockArguments,
) -> Result<Stateid, Failure> {
    let file = no_directory(context)?;
    let arguments = UnlockArguments { stateid: context.stateids.resolve(&arguments.stateid)?, ..arguments.clone() };
    let stateid = context.state().unlock(context.client()?, &file.key(), &arguments)?;
    context.stateids.set(stateid);
    Ok(stateid)
}
