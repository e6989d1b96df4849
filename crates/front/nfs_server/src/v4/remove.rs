//! REMOVE, RFC 8881 §18.25.

use super::context::Context;
use super::names::{change, sought};
use super::row::{CHANGE, CHANGE_INFO_BYTES, HANDLE, NAME, NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::{ChangeInfo, Name, Status};
use vfs::{Expect, FileSystem, Place, Removes};

pub(super) const ROW: Row = Row {
    code: 28,
    statuses: &[HANDLE, NAME, CHANGE, &[Status::FILE_OPEN, Status::NOTEMPTY]],
    reply_bytes: NO_RESULTS_BYTES + CHANGE_INFO_BYTES,
};

/// Removes a name from the current directory.
pub(super) async fn execute<F: FileSystem>(context: &Context<'_, F>, name: Name) -> Result<ChangeInfo, Failure> {
    let directory = context.file()?;
    let name = sought(name)?;
    let from = Place { directory: directory.id, name: &name };
    let call = context.call(&directory);
    let removed = directory.export.files().remove(call, from, Removes::Anything, Expect::Anything).await?;
    Ok(change(&removed.directory))
}
