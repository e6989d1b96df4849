//! SETATTR, RFC 1813 §3.3.2.

use super::context::{Context, File};
use super::failure::{Outcome, Reason};
use super::wire;
use crate::reservations::Access;
use nfs::v3::{SetAttributesArguments, Status, WccData};
use vfs::{FileSystem, FsError, Kind};

/// Sets attributes, all or none.
///
/// * `NOT_SYNC`: the guard is another time than that of the last change.
/// * `INVAL`: the size of what is no regular file, or a time that there is not.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &SetAttributesArguments,
) -> Outcome<WccData, WccData> {
    let file = context.file(&arguments.file)?;
    match set(context, &file, arguments).await {
        Ok(wcc) => Ok(wcc),
        Err(reason) => Err(reason.with(file.wcc_unchanged().await)),
    }
}

async fn set<F: FileSystem>(
    context: &Context<'_, F>,
    file: &File<'_, F>,
    arguments: &SetAttributesArguments,
) -> Result<WccData, Reason> {
    file.check_writable()?;
    let set = wire::to_set(&arguments.attributes)?;
    if set.size_bytes.is_some() {
        context.check_reservations(file, file.id, Access::Write)?;
    }
    // A time that there is not is not that of a change.
    let guard = match &arguments.guard {
        Some(time) => Some(wire::timestamp(time).ok_or(Status::NOT_SYNC)?),
        None => None,
    };
    match file.files().set_attributes(file.call(), file.id, &set, guard).await {
        Ok(changed) => Ok(file.wcc(&changed)),
        // Only the size needs a kind, and SETATTR has no ISDIR.
        Err(FsError::IsDirectory) => Err(FsError::WrongKind { kind: Kind::Directory }.into()),
        Err(error) => Err(error.into()),
    }
}
