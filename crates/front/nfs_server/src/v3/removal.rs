//! What REMOVE and RMDIR have in common.

use super::context::{Context, File};
use super::failure::{Outcome, Reason};
use super::wire;
use nfs::v3::{DirectoryEntry, Status, WccData};
use vfs::{Expect, FileSystem, FsError, Place, Removes};

/// How often a name is looked up again, because it led to another file meanwhile.
pub(super) const ATTEMPTS: u32 = 8;

/// Removes a name of these kinds of files. `JUKEBOX`: an open of the file denies it, or may be reclaimed.
pub(super) async fn remove<F: FileSystem>(
    context: &Context<'_, F>,
    what: &DirectoryEntry,
    removes: Removes,
) -> Outcome<WccData, WccData> {
    let directory = context.file(&what.directory)?;
    match remove_from(context, &directory, what, removes).await {
        Ok(wcc) => Ok(wcc),
        Err(reason) => Err(reason.with(directory.wcc_unchanged().await)),
    }
}

async fn remove_from<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &File<'_, F>,
    what: &DirectoryEntry,
    removes: Removes,
) -> Result<WccData, Reason> {
    directory.check_writable()?;
    let name = wire::old_name(&what.name)?;
    let from = Place { directory: directory.id, name: &name };
    for _ in 0..ATTEMPTS {
        let expect = expected(context, directory, from, removes).await?;
        match directory.files().remove(directory.call(), from, removes, expect).await {
            Ok(removed) => return Ok(directory.wcc(&removed.directory)),
            Err(FsError::NameChanged { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Status::JUKEBOX.into())
}

/// File that the name has to lead to: the one whose opens were checked. Directories have no opens.
async fn expected<F: FileSystem>(
    context: &Context<'_, F>,
    directory: &File<'_, F>,
    from: Place<'_>,
    removes: Removes,
) -> Result<Expect, Reason> {
    if removes == Removes::Directory {
        return Ok(Expect::Anything);
    }
    let found = directory.files().lookup(directory.call(), directory.id, from.name).await?;
    context.check_removal(directory, &found.file)?;
    Ok(Expect::File(found.file.file))
}
