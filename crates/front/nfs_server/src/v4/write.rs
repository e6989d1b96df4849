//! WRITE, RFC 8881 §18.32.

use super::commit::verifier;
use super::context::Context;
use super::row::{CHANGE, GROWTH, HANDLE, Row, STATEID};
use super::stateids::{Use, state_check};
use crate::failure::Failure;
use nfs::v4::io::{WriteArguments, WriteOk};
use nfs::v4::{Stable, Status};
use vfs::{Call, FileSystem, FsError, Payload, Stability};

pub(super) const ROW: Row = Row {
    code: 38,
    statuses: &[HANDLE, STATEID, CHANGE, GROWTH, &[Status::FBIG, Status::ISDIR, Status::SYMLINK]],
    reply_bytes: 24,
};

/// Writes as much as the file system takes at once. What has to be durable is so with all attributes.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: WriteArguments,
) -> Result<WriteOk, Failure> {
    let file = context.file()?;
    let right = state_check(context, &arguments.stateid, Use::Write)?;
    let files = file.export.files();
    let limits = files.limits();
    let mut data = arguments.data.into_bytes();
    data.truncate(usize::try_from(limits.io_bytes).unwrap_or(usize::MAX));
    let count_bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
    if arguments.offset_bytes.checked_add(count_bytes.into()).is_none() {
        return Err(FsError::FileTooLarge { limit_bytes: limits.file_bytes }.into());
    }
    let (stability, committed) = match arguments.stable {
        Stable::Unstable => (Stability::Unstable, Stable::Unstable),
        Stable::DataSync | Stable::FileSync => (Stability::Durable, Stable::FileSync),
    };
    let call = Call { right, ..context.call(&file) };
    files.write(call, file.id, arguments.offset_bytes, Payload::from(data), stability).await?;
    Ok(WriteOk { count_bytes, committed, verifier: verifier(files) })
}
