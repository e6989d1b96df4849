//! READ, RFC 8881 §18.22.

use super::context::Context;
use super::row::{HANDLE, Row, STATEID};
use super::stateids::{Use, state_check};
use crate::failure::Failure;
use nfs::v4::Status;
use nfs::v4::io::{ReadArguments, ReadOk};
use vfs::{Call, Content, FileSystem};

pub(super) const ROW: Row =
    Row { code: 25, statuses: &[HANDLE, STATEID, &[Status::ISDIR, Status::SYMLINK]], reply_bytes: RESULTS_BYTES };

/// Length of the results without data: number, status, eof, and length.
const RESULTS_BYTES: usize = 16;

/// Reads as much as the file system reads at once, and as the reply has room for.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &ReadArguments,
) -> Result<ReadOk, Failure> {
    let content = content(context, arguments, RESULTS_BYTES).await?;
    Ok(ReadOk { eof: content.end_of_file, data: content.into_bytes().into() })
}

/// Content of the current file, of a length that the reply has room for besides `other_bytes`.
pub(super) async fn content<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &ReadArguments,
    other_bytes: usize,
) -> Result<Content, Failure> {
    let file = context.file()?;
    let right = state_check(context, &arguments.stateid, Use::Read)?;
    let files = file.export.files();
    // Padding included, data takes a multiple of 4 bytes.
    let room = context.room_bytes.saturating_sub(other_bytes) & !3;
    let most = u32::try_from(room).unwrap_or(u32::MAX).min(files.limits().io_bytes);
    let call = Call { right, ..context.call(&file) };
    let count_bytes = arguments.count_bytes.min(most);
    Ok(files.read(call, file.id, arguments.offset_bytes, count_bytes).await?)
}
