//! RENAME, RFC 1813 §3.3.14.

use super::context::{Context, File};
use super::failure::{Outcome, Reason};
use super::removal::ATTEMPTS;
use super::wire;
use nfs::v3::{RenameArguments, RenameWcc, Status};
use vfs::{Expect, FileSystem, FsError, Place};

/// Renames a file, and replaces the one that has the new name.
///
/// * `XDEV`: the names are in different shares.
/// * `JUKEBOX`: an open of the replaced file denies it, or may be reclaimed.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &RenameArguments,
) -> Outcome<RenameWcc, RenameWcc> {
    let from = context.file(&arguments.from.directory)?;
    let to = context.file(&arguments.to.directory)?;
    match rename(context, &from, &to, arguments).await {
        Ok(wcc) => Ok(wcc),
        Err(reason) => {
            let details = RenameWcc { from: from.wcc_unchanged().await, to: to.wcc_unchanged().await };
            Err(reason.with(details))
        }
    }
}

async fn rename<F: FileSystem>(
    context: &Context<'_, F>,
    from: &File<'_, F>,
    to: &File<'_, F>,
    arguments: &RenameArguments,
) -> Result<RenameWcc, Reason> {
    from.check_writable()?;
    to.check_writable()?;
    if !from.same_share(to) {
        return Err(Status::XDEV.into());
    }
    let (old, new) = (wire::name(&arguments.from.name)?, wire::name(&arguments.to.name)?);
    let (old, new) = (Place { directory: from.id, name: &old }, Place { directory: to.id, name: &new });
    for _ in 0..ATTEMPTS {
        let expect = expected(context, (from, old), (to, new)).await?;
        match from.files().rename(from.call(), old, new, expect).await {
            Ok(renamed) => return Ok(RenameWcc { from: from.wcc(&renamed.from), to: to.wcc(&renamed.to) }),
            Err(FsError::NameChanged { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Status::JUKEBOX.into())
}

/// What the new name has to lead to: the file whose opens were checked, or none. If it is the file itself, it keeps
/// the name.
async fn expected<F: FileSystem>(
    context: &Context<'_, F>,
    (from, old): (&File<'_, F>, Place<'_>),
    (to, new): (&File<'_, F>, Place<'_>),
) -> Result<Expect, Reason> {
    let files = to.files();
    let replaced = match files.lookup(to.call(), to.id, new.name).await {
        Ok(found) => found.file,
        Err(FsError::NotFound) => return Ok(Expect::Nothing),
        Err(error) => return Err(error.into()),
    };
    let source = files.lookup(from.call(), from.id, old.name).await?;
    if source.file.file != replaced.file {
        context.check_removal(to, &replaced)?;
    }
    Ok(Expect::File(replaced.file))
}
