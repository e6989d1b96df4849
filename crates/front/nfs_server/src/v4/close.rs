//! CLOSE, RFC 8881 §18.2.

use super::context::Context;
use super::row::{HANDLE, NO_RESULTS_BYTES, Row, STATEID, STATEID_BYTES};
use crate::failure::Failure;
use nfs::v4::open::CloseArguments;
use nfs::v4::{Stateid, Status};
use vfs::FileSystem;

pub(super) const ROW: Row =
    Row { code: 4, statuses: &[HANDLE, STATEID, &[Status::LOCKS_HELD]], reply_bytes: NO_RESULTS_BYTES + STATEID_BYTES };

/// Ends an open with its locks. Returns the invalid stateid.
pub(super) fn execute<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &CloseArguments,
) -> Result<Stateid, Failure> {
    let file = no_directory(context)?;
    let arguments = CloseArguments { stateid: context.stateids.resolve(&arguments.stateid)?, ..arguments.clone() };
    let closed = context.state().close(context.client()?, &file.key(), &arguments)?;
    context.closed += 1;
    context.stateids.set(closed);
    Ok(closed)
}

/// The current file. The pseudo root is never open: its stateids are bad.
pub(super) fn no_directory<F: FileSystem>(context: &Context<'_, F>) -> Result<super::object::File<F>, Failure> {
    Ok(context.current()?.file().map_err(|_| Status::BAD_STATEID)?.clone())
}
