//! CLONE, RFC 7862 §15.13: a range of the saved file becomes a range of the current one, with shared storage.

use super::context::Context;
use super::row::{CHANGE, GROWTH, HANDLE, NO_RESULTS_BYTES, Row, STATEID};
use super::stateids::{Use, saved_state_check, state_check};
use crate::failure::Failure;
use crate::work;
use nfs::v4::Status;
use nfs::v4::offload::CloneArguments;
use vfs::{Call, FileSystem, Right, Source};

pub(super) const ROW: Row = Row {
    code: 71,
    statuses: &[HANDLE, STATEID, CHANGE, GROWTH, &[Status::FBIG, Status::ISDIR, Status::SYMLINK, Status::XDEV]],
    reply_bytes: NO_RESULTS_BYTES,
};

/// Clones the range at one instant. A count of 0 stands for all up to the end of the source.
///
/// * `XDEV`: the files are of different shares.
/// * `INVAL`: offsets or count that are not multiples of `clone_blksize`, a range that does not lie in the
///   source, or ranges of one file that overlap.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &CloneArguments,
) -> Result<(), Failure> {
    let (from, to) = (context.saved_file()?, context.file()?);
    if !from.shares_with(&to) {
        return Err(Status::XDEV.into());
    }
    let read = saved_state_check(context, &arguments.source_stateid, Use::Read)?;
    let write = state_check(context, &arguments.destination_stateid, Use::Write)?;
    let files = to.export.files();
    let source = Source {
        file_system: files,
        file: from.id,
        offset_bytes: arguments.source_offset_bytes,
        length_bytes: Some(arguments.count_bytes).filter(|count| *count > 0),
    };
    let call = Call { right: both(read, write), ..context.call(&to) };
    files.clone_range(call, source, to.id, arguments.destination_offset_bytes).await?;
    let bytes = match arguments.count_bytes {
        0 => {
            let source = files.attributes(from.id).await;
            source.map_or(0, |source| source.size_bytes.saturating_sub(arguments.source_offset_bytes))
        }
        count => count,
    };
    context.worked(work::cloned(bytes));
    Ok(())
}

/// Right to two files by one call: mode bits decide, unless both are open.
pub(super) fn both(read: Right, write: Right) -> Right {
    if read == Right::Opened && write == Right::Opened { Right::Opened } else { Right::Mode }
}
