//! What REMOVE and RMDIR have in common.

use super::context::{Context, File};
use super::failure::{Outcome, Reason};
use super::wire;
use nfs::v3::{DirectoryEntry, WccData};
use vfs::{Expect, FileSystem, Place, Removes};

/// Removes a name of these kinds of files.
pub(super) async fn remove<F: FileSystem>(
    context: &Context<'_, F>,
    what: &DirectoryEntry,
    removes: Removes,
) -> Outcome<WccData, WccData> {
    let directory = context.file(&what.directory)?;
    match remove_from(&directory, what, removes).await {
        Ok(wcc) => Ok(wcc),
        Err(reason) => Err(reason.with(directory.wcc_unchanged().await)),
    }
}

async fn remove_from<F: FileSystem>(
    directory: &File<'_, F>,
    what: &DirectoryEntry,
    removes: Removes,
) -> Result<WccData, Reason> {
    directory.check_writable()?;
    let name = wire::old_name(&what.name)?;
    let from = Place { directory: directory.id, name: &name };
    let removed = directory.files().remove(directory.call(), from, removes, Expect::Anything).await?;
    Ok(directory.wcc(&removed.directory))
}
