//! MKDIR, RFC 1813 §3.3.9.

use super::context::Context;
use super::creation;
use super::failure::Outcome;
use nfs::v3::{CreateOk, MakeDirectoryArguments, WccData};
use vfs::{FileSystem, NewKind};

/// Creates a directory.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &MakeDirectoryArguments,
) -> Outcome<CreateOk, WccData> {
    creation::create(context, &arguments.entry, async |_, _| {
        creation::special(NewKind::Directory, &arguments.attributes)
    })
    .await
}
