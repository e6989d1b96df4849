//! DEALLOCATE, RFC 7862 §15.4: makes a range read as zeros and frees its blocks.

use super::context::Context;
use super::row::{CHANGE, GROWTH, HANDLE, NO_RESULTS_BYTES, Row, STATEID};
use super::stateids::{Use, state_check};
use crate::failure::Failure;
use crate::work;
use nfs::v4::Status;
use nfs::v4::offload::RangeArguments;
use vfs::{Call, FileSystem};

pub(super) const ROW: Row = Row {
    code: 62,
    statuses: &[HANDLE, STATEID, CHANGE, GROWTH, &[Status::FBIG, Status::ISDIR, Status::SYMLINK]],
    reply_bytes: NO_RESULTS_BYTES,
};

/// Frees the part of the range inside the file, whose size stays. An empty range is `INVAL`.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &RangeArguments,
) -> Result<(), Failure> {
    let file = context.file()?;
    let right = state_check(context, &arguments.stateid, Use::Write)?;
    let call = Call { right, ..context.call(&file) };
    let files = file.export.files();
    let (offset_bytes, length_bytes) = (arguments.offset_bytes, arguments.length_bytes);
    let changed = files.deallocate(call, file.id, offset_bytes, length_bytes).await?;
    let grain_bytes = files.limits().grain_bytes.into();
    context.worked(work::freed(offset_bytes, length_bytes, changed.after.size_bytes, grain_bytes));
    Ok(())
}
