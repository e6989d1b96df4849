//! ALLOCATE, RFC 7862 §15.1: promises space for a range.

use super::context::Context;
use super::row::{CHANGE, GROWTH, HANDLE, NO_RESULTS_BYTES, Row, STATEID};
use super::stateids::{Use, state_check};
use crate::failure::Failure;
use crate::work;
use nfs::v4::Status;
use nfs::v4::offload::RangeArguments;
use vfs::{Call, FileSystem};

pub(super) const ROW: Row = Row {
    code: 59,
    statuses: &[HANDLE, STATEID, CHANGE, GROWTH, &[Status::FBIG, Status::ISDIR, Status::SYMLINK]],
    reply_bytes: NO_RESULTS_BYTES,
};

/// Promises the range; the file grows if needed. An empty range is `INVAL`.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &RangeArguments,
) -> Result<(), Failure> {
    let file = context.file()?;
    let right = state_check(context, &arguments.stateid, Use::Write)?;
    let call = Call { right, ..context.call(&file) };
    file.export.files().allocate(call, file.id, arguments.offset_bytes, arguments.length_bytes).await?;
    context.worked(work::reserved(arguments.length_bytes));
    Ok(())
}
