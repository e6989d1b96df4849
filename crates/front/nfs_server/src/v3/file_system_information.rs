//! FSINFO, RFC 1813 §3.3.19.

use super::context::Context;
use super::failure::{Outcome, Reason};
use super::listing::MOST_LISTED_BYTES;
use nfs::v3::{Attributes, FileSystemInformation, Filehandle, Time, properties};
use vfs::FileSystem;

/// Limits of the file system.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    root: &Filehandle,
) -> Outcome<FileSystemInformation, Option<Attributes>> {
    let file = context.file(root)?;
    let attributes = file.files().attributes(file.id).await.map_err(|error| Reason::from(error).with(None))?;
    let limits = file.limits();
    Ok(FileSystemInformation {
        attributes: Some(file.wire(&attributes)),
        max_read_bytes: limits.io_bytes,
        preferred_read_bytes: limits.io_bytes,
        read_multiple_bytes: limits.grain_bytes,
        max_write_bytes: limits.io_bytes,
        preferred_write_bytes: limits.io_bytes,
        write_multiple_bytes: limits.grain_bytes,
        preferred_read_directory_bytes: MOST_LISTED_BYTES,
        max_file_bytes: limits.file_bytes,
        time_delta: Time { seconds: 0, nanoseconds: 1 },
        properties: properties::LINK | properties::SYMLINK | properties::HOMOGENEOUS | properties::CANSETTIME,
    })
}
