//! SEEK, RFC 7862 §15.11.

use super::context::Context;
use super::row::{HANDLE, Row, STATEID};
use super::stateids::{Use, state_check};
use crate::failure::Failure;
use nfs::v4::Status;
use nfs::v4::io::{Content, SeekArguments, SeekOk};
use vfs::{Call, FileSystem, Seek};

pub(super) const ROW: Row = Row {
    code: 69,
    statuses: &[HANDLE, STATEID, &[Status::ISDIR, Status::NXIO, Status::SYMLINK, Status::UNION_NOTSUPP]],
    reply_bytes: 20,
};

/// Looks for data or a hole in the current file.
///
/// * `NXIO`: the offset is not inside the file.
/// * Without data behind the offset: eof, and the size.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &SeekArguments,
) -> Result<SeekOk, Failure> {
    let file = context.file()?;
    let what = match arguments.what {
        Content::DATA => Seek::Data,
        Content::HOLE => Seek::Hole,
        _ => return Err(Status::UNION_NOTSUPP.into()),
    };
    let right = state_check(context, &arguments.stateid, Use::Read)?;
    let call = Call { right, ..context.call(&file) };
    let sought = file.export.files().seek(call, file.id, arguments.offset_bytes, what).await?;
    Ok(SeekOk { eof: sought.end_of_file, offset_bytes: sought.offset_bytes })
}
