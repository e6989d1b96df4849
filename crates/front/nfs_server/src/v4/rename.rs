//! RENAME, RFC 8881 §18.26.

use super::context::Context;
use super::names::{change, kept, sought};
use super::object::File;
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

/// Renames from the saved to the current directory.
///
/// * `EXIST`: the new name is of a file that the old one cannot replace.
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
    let renamed = to.export.files().rename(context.call(&to), old, new, Expect::Anything).await;
    match renamed {
        Ok(renamed) => Ok(RenameOk { source: change(&renamed.from), target: change(&renamed.to) }),
        Err(FsError::NotEmpty | FsError::IsDirectory) => Err(Status::EXIST.into()),
        Err(error @ FsError::NotDirectory { .. }) if directories(&from, &to).await? => {
            // Not the directories, but the file that has the new name.
            drop(error);
            Err(Status::EXIST.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether both are directories.
async fn directories<F: FileSystem>(from: &File<F>, to: &File<F>) -> Result<bool, FsError> {
    let files = to.export.files();
    let kinds = [files.attributes(from.id).await?.kind, files.attributes(to.id).await?.kind];
    Ok(kinds == [Kind::Directory; 2])
}
