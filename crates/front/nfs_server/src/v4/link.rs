//! LINK, RFC 8881 §18.9.

use super::context::Context;
use super::names::{change, kept};
use super::row::{CHANGE, CHANGE_INFO_BYTES, GROWTH, HANDLE, NAME, NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::{ChangeInfo, Name, Status};
use vfs::{FileSystem, Place};

pub(super) const ROW: Row = Row {
    code: 11,
    statuses: &[
        HANDLE,
        NAME,
        CHANGE,
        GROWTH,
        &[Status::EXIST, Status::FILE_OPEN, Status::ISDIR, Status::MLINK, Status::SYMLINK],
        &[Status::WRONG_TYPE, Status::XDEV],
    ],
    reply_bytes: NO_RESULTS_BYTES + CHANGE_INFO_BYTES,
};

/// Gives the saved file a name in the current directory. `XDEV`: they are of different shares.
pub(super) async fn execute<F: FileSystem>(context: &Context<'_, F>, name: Name) -> Result<ChangeInfo, Failure> {
    let (file, directory) = (context.saved_file()?, context.file()?);
    if !file.shares_with(&directory) {
        return Err(Status::XDEV.into());
    }
    let name = kept(name)?;
    let to = Place { directory: directory.id, name: &name };
    let linked = directory.export.files().link(context.call(&directory), file.id, to).await?;
    Ok(change(&linked.directory))
}
