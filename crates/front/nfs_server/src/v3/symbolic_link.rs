//! SYMLINK, RFC 1813 §3.3.10.

use super::context::Context;
use super::creation;
use super::failure::Outcome;
use nfs::v3::{CreateOk, SymbolicLinkArguments, WccData};
use vfs::{FileSystem, LinkTarget, NewKind};

/// Creates a symbolic link. `INVAL`: the target is empty or has a NUL.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &SymbolicLinkArguments,
) -> Outcome<CreateOk, WccData> {
    creation::create(context, &arguments.entry, async |_, _| {
        let target = LinkTarget::new(arguments.target.as_bytes().clone())?;
        creation::special(NewKind::Symlink(target), &arguments.attributes)
    })
    .await
}
