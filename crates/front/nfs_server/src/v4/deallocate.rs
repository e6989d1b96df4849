//! DEALLOCATE, RFC 7862 §15.4: makes a range read as zeros and frees its blocks.

use super::context::Context;
use super::row::{CHANGE, GROWTH, HANDLE, NO_RESULTS_BYTES, Row, STATEID};
use super::stateids::{Use, state_check};
use crate::failure::Failure;
use nfs::v4::Status;
use nfs::v4::offload::RangeArguments;
use unit::{OffloadWork, Reason};
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
    let changed = files.deallocate(call, file.id, arguments.offset_bytes, arguments.length_bytes).await?;
    context.worked(work(arguments, changed.after.size_bytes, files.limits().grain_bytes.into()));
    Ok(())
}

/// Work of freeing a range: whole grains inside the file are free afterwards, the edges are zeros.
fn work(arguments: &RangeArguments, size_bytes: u64, grain_bytes: u64) -> OffloadWork {
    let end_bytes = arguments.offset_bytes.saturating_add(arguments.length_bytes).min(size_bytes);
    let bytes = end_bytes.saturating_sub(arguments.offset_bytes);
    let (start, end) = (arguments.offset_bytes.div_ceil(grain_bytes), end_bytes / grain_bytes);
    let deallocated_bytes = end.saturating_sub(start).saturating_mul(grain_bytes);
    OffloadWork {
        bytes,
        deallocated_bytes,
        unaligned_bytes: bytes.saturating_sub(deallocated_bytes),
        not_offloaded: (bytes > 0 && deallocated_bytes == 0).then(|| (Reason::BelowGrain, format!("{bytes} bytes"))),
        ..OffloadWork::default()
    }
}
