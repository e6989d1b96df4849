//! RENAME, RFC 8881 §18.26.

use super::context::Context;
use super::names::{change, kept, sought};
use super::object::File;
use super::remove::check_open;
use super::row::{CHANGE, CHANGE_INFO_BYTES, GROWTH, HANDLE, NAME, NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::Status;
use nfs::v4::names::{RenameArguments, RenameOk};
use vfs::{Expect, FileSystem, FsError, Kind, Place};

pub(super) const ROW: Row = Row {
    code: 29,
    statuses: &[
        HANDLE,
        NAME,
        CHANGE,
        GROWTH,
        &[Status::EXIST, Status::FILE_OPEN, Status::MLINK, Status::NOTEMPTY, Status::XDEV],
    ],
    reply_bytes: NO_RESULTS_BYTES + 2 * CHANGE_INFO_BYTES,
};

/// How often a name is looked up again, because it led to another file meanwhile.
const ATTEMPTS: u32 = 8;

/// Renames from the saved to the current directory.
///
/// * `EXIST`: the new name is of a file that the old one cannot replace.
/// * `FILE_OPEN`: an open of the replaced file denies writing.
/// * `XDEV`: the directories are of different shares.
/// * `INVAL`: a directory would get below itself.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: RenameArguments,
) -> Result<RenameOk, Failure> {
    let to = context.file()?;
    // The pseudo root, which holds the shares, is another file system, too.
    let from = context.saved()?.file().ok().filter(|from| from.shares_with(&to)).cloned().ok_or(Status::XDEV)?;
    let (old, new) = (sought(arguments.old)?, kept(arguments.new)?);
    let old = Place { directory: from.id, name: &old };
    let new = Place { directory: to.id, name: &new };
    for _ in 0..ATTEMPTS {
        let expect = expected(context, (&from, old), (&to, new)).await?;
        match to.export.files().rename(context.call(&to), old, new, expect).await {
            Ok(renamed) => return Ok(RenameOk { source: change(&renamed.from), target: change(&renamed.to) }),
            Err(FsError::NameChanged { .. }) => {}
            Err(FsError::NotEmpty | FsError::IsDirectory) => return Err(Status::EXIST.into()),
            // Not one of the directories, but the file that has the new name.
            Err(FsError::NotDirectory { .. }) if directories(&from, &to).await? => return Err(Status::EXIST.into()),
            Err(error) => return Err(error.into()),
        }
    }
    Err(Status::DELAY.into())
}

/// What the new name may lead to: the file whose opens were checked, or none. If it is the file itself, it keeps
/// the name.
async fn expected<F: FileSystem>(
    context: &Context<'_, F>,
    (from, old): (&File<F>, Place<'_>),
    (to, new): (&File<F>, Place<'_>),
) -> Result<Expect, Failure> {
    let files = to.export.files();
    let replaced = match files.lookup(context.call(to), to.id, new.name).await {
        Ok(found) => found.file,
        Err(FsError::NotFound) => return Ok(Expect::Nothing),
        Err(error) => return Err(error.into()),
    };
    let source = files.lookup(context.call(from), from.id, old.name).await?;
    if source.file.file != replaced.file {
        check_open(context, to, &replaced)?;
    }
    Ok(Expect::File(replaced.file))
}

/// Whether both are directories.
async fn directories<F: FileSystem>(from: &File<F>, to: &File<F>) -> Result<bool, FsError> {
    let files = to.export.files();
    let kinds = [files.attributes(from.id).await?.kind, files.attributes(to.id).await?.kind];
    Ok(kinds == [Kind::Directory; 2])
}
