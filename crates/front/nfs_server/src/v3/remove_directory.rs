//! RMDIR, RFC 1813 §3.3.13.

use super::context::Context;
use super::failure::Outcome;
use super::removal;
use nfs::v3::{DirectoryEntry, WccData};
use vfs::{FileSystem, Removes};

/// Removes an empty directory.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    what: &DirectoryEntry,
) -> Outcome<WccData, WccData> {
    removal::remove(context, what, Removes::Directory).await
}
