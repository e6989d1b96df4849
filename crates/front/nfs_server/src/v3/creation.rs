//! What CREATE, MKDIR, SYMLINK and MKNOD have in common.

use super::context::{Context, File};
use super::failure::{Outcome, Reason};
use super::wire;
use nfs::v3::{CreateOk, DirectoryEntry, NewAttributes, WccData};
use vfs::{Created, FileSystem, New, NewKind, SetAttributes};

/// Creates a file, after the checks that all creations have in common. `what` is called once these are
/// passed; it decides the kind, or refuses.
pub(super) async fn create<F: FileSystem>(
    context: &Context<'_, F>,
    entry: &DirectoryEntry,
    what: impl AsyncFnOnce(&File<'_, F>, &vfs::Name) -> Result<New, Reason>,
) -> Outcome<CreateOk, WccData> {
    let directory = context.file(&entry.directory)?;
    match create_in(&directory, entry, what).await {
        Ok(Created { file, directory: changed, .. }) => Ok(CreateOk {
            file: Some(directory.handle(file.file)),
            attributes: Some(directory.wire(&file)),
            wcc: directory.wcc(&changed),
        }),
        Err(reason) => Err(reason.with(directory.wcc_unchanged().await)),
    }
}

async fn create_in<F: FileSystem>(
    directory: &File<'_, F>,
    entry: &DirectoryEntry,
    what: impl AsyncFnOnce(&File<'_, F>, &vfs::Name) -> Result<New, Reason>,
) -> Result<Created, Reason> {
    directory.check_writable()?;
    let name = wire::new_name(&entry.name)?;
    let new = what(directory, &name).await?;
    Ok(directory.files().create(directory.call(), directory.id, &name, &new).await?)
}

/// New file that is no regular one. It has no size to set; a client that sends one means a regular file.
pub(super) fn special(what: NewKind, attributes: &NewAttributes) -> Result<New, Reason> {
    let attributes = SetAttributes { size_bytes: None, ..wire::to_set(attributes)? };
    Ok(New { what, attributes })
}
