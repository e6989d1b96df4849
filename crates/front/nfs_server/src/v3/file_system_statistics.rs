//! FSSTAT, RFC 1813 §3.3.18.

use super::context::Context;
use super::failure::{Outcome, Reason};
use nfs::v3::{Attributes, FileSystemStatistics, Filehandle};
use vfs::FileSystem;

/// Space of the file system: its quota or the pool, less what is used and promised.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    root: &Filehandle,
) -> Outcome<FileSystemStatistics, Option<Attributes>> {
    let file = context.file(root)?;
    let attributes = file.files().attributes(file.id).await.map_err(|error| Reason::from(error).with(None))?;
    let attributes = Some(file.wire(&attributes));
    match file.files().capacity().await {
        Ok(capacity) => Ok(FileSystemStatistics {
            attributes,
            total_bytes: capacity.total_bytes,
            free_bytes: capacity.free_bytes,
            available_bytes: capacity.available_bytes,
            total_files: capacity.files,
            free_files: capacity.free_files,
            available_files: capacity.free_files,
            unchanging_seconds: 0,
        }),
        Err(error) => Err(Reason::from(error).with(attributes)),
    }
}
