//! WRITE, RFC 1813 §3.3.7.

use super::context::{Context, File};
use super::failure::{Outcome, Reason};
use crate::reservations::Access;
use nfs::v3::{Stable, WccData, WriteArguments, WriteOk};
use vfs::{FileSystem, FsError, Payload, Stability};

/// Writes data, and at most `wtmax` of FSINFO: the count of the results tells how much.
///
/// * `FBIG`: the data would end behind the largest file.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &WriteArguments,
) -> Outcome<WriteOk, WccData> {
    let file = context.file(&arguments.file)?;
    match write(context, &file, arguments).await {
        Ok(results) => Ok(results),
        Err(reason) => Err(reason.with(file.wcc_unchanged().await)),
    }
}

async fn write<F: FileSystem>(
    context: &Context<'_, F>,
    file: &File<'_, F>,
    arguments: &WriteArguments,
) -> Result<WriteOk, Reason> {
    file.check_writable()?;
    context.check_reservations(file, file.id, Access::Write)?;
    let limits = file.limits();
    let mut data = arguments.data.as_bytes().clone();
    data.truncate(usize::try_from(limits.io_bytes).unwrap_or(usize::MAX));
    // At most `io_bytes`.
    let count_bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
    let (stability, committed) = match arguments.stable {
        Stable::Unstable => (Stability::Unstable, Stable::Unstable),
        Stable::DataSync | Stable::FileSync => (Stability::Durable, Stable::FileSync),
    };
    let verifier = super::write_verifier(file.files());
    let written = file.files().write(file.call(), file.id, arguments.offset_bytes, Payload::from(data), stability);
    match written.await {
        Ok(changed) => Ok(WriteOk { wcc: file.wcc(&changed), count_bytes, committed, verifier }),
        // A range that ends beyond 64 bits ends behind the largest file, too.
        Err(FsError::BadRange) => Err(FsError::FileTooLarge { limit_bytes: limits.file_bytes }.into()),
        Err(error) => Err(error.into()),
    }
}
