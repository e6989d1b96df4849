//! REMOVEXATTR, RFC 8276 §8.4.4.

use super::context::Context;
use super::get_xattr::supporting_file;
use super::names::change;
use super::row::{CHANGE, CHANGE_INFO_BYTES, HANDLE, NAME, NO_RESULTS_BYTES, Row};
use super::xattr_name::{Found, find};
use crate::failure::Failure;
use nfs::v4::{ChangeInfo, Name, Status};
use vfs::FileSystem;

pub(super) const ROW: Row = Row {
    code: 75,
    statuses: &[HANDLE, NAME, CHANGE, &[Status::NOXATTR, Status::PERM, Status::WRONG_TYPE]],
    reply_bytes: NO_RESULTS_BYTES + CHANGE_INFO_BYTES,
};

/// Removes an extended attribute. `ACCESS`: it is one of the server's own.
pub(super) async fn execute<F: FileSystem>(context: &Context<'_, F>, name: Name) -> Result<ChangeInfo, Failure> {
    let file = supporting_file(context)?;
    let Found::Stored(name) = find(name)? else { return Err(Status::ACCESS.into()) };
    let removed = file.export.files().remove_xattr(context.call(&file), file.id, &name).await?;
    Ok(change(&removed))
}
