//! REMOVE, RFC 1813 §3.3.12.

use super::context::Context;
use super::failure::Outcome;
use super::removal;
use nfs::v3::{DirectoryEntry, WccData};
use vfs::{FileSystem, Removes};

/// Removes a name, and with the last one the file. `ISDIR`: it is a directory.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    what: &DirectoryEntry,
) -> Outcome<WccData, WccData> {
    removal::remove(context, what, Removes::NoDirectory).await
}
