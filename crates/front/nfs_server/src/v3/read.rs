//! READ, RFC 1813 §3.3.6.

use super::context::{Context, File};
use super::failure::{Outcome, Reason};
use crate::reservations::Access;
use nfs::v3::{Attributes, ReadArguments, ReadOk};
use vfs::FileSystem;

/// Reads content, as much as there is, and at most `rtmax` of FSINFO. `eof` is true when the content ends
/// at the end of the file: clients rely on it.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &ReadArguments,
) -> Outcome<ReadOk, Option<Attributes>> {
    let file = context.file(&arguments.file)?;
    match read(context, &file, arguments).await {
        Ok(results) => Ok(results),
        Err(reason) => Err(reason.with(file.attributes().await)),
    }
}

async fn read<F: FileSystem>(
    context: &Context<'_, F>,
    file: &File<'_, F>,
    arguments: &ReadArguments,
) -> Result<ReadOk, Reason> {
    context.check_reservations(file, file.id, Access::Read)?;
    let length_bytes = arguments.count_bytes.min(file.limits().io_bytes);
    let content = file.files().read(file.call(), file.id, arguments.offset_bytes, length_bytes).await?;
    let (attributes, eof) = (file.wire(&content.attributes), content.end_of_file);
    let data = content.into_bytes();
    // At most `length_bytes`.
    let count_bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
    Ok(ReadOk { attributes: Some(attributes), count_bytes, eof, data: data.into() })
}
