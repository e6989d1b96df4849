//! SETXATTR, RFC 8276 §8.4.2.

use super::context::Context;
use super::get_xattr::supporting_file;
use super::names::change;
use super::row::{CHANGE, CHANGE_INFO_BYTES, GROWTH, HANDLE, NAME, NO_RESULTS_BYTES, Row};
use super::xattr_name::{Found, find};
use crate::failure::Failure;
use bytes::Bytes;
use nfs::v4::xattr::{SetArguments, SetOption};
use nfs::v4::{ChangeInfo, Status};
use vfs::{FileSystem, SetXattr};

pub(super) const ROW: Row = Row {
    code: 73,
    statuses: &[
        HANDLE,
        NAME,
        CHANGE,
        GROWTH,
        &[Status::EXIST, Status::NOXATTR, Status::PERM, Status::WRONG_TYPE, Status::XATTR2BIG],
    ],
    reply_bytes: NO_RESULTS_BYTES + CHANGE_INFO_BYTES,
};

/// Sets an extended attribute. `ACCESS`: it is one of the server's own.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: SetArguments,
) -> Result<ChangeInfo, Failure> {
    let file = supporting_file(context)?;
    let Found::Stored(name) = find(arguments.name)? else { return Err(Status::ACCESS.into()) };
    let how = match arguments.option {
        SetOption::Either => SetXattr::Either,
        SetOption::Create => SetXattr::Create,
        SetOption::Replace => SetXattr::Replace,
    };
    // A copy: the value is kept, the call is not. A value that is too long is refused by its length.
    let value = Bytes::copy_from_slice(&arguments.value);
    let files = file.export.files();
    let set = files.set_xattr(context.call(&file), file.id, &name.detached(), value, how).await?;
    Ok(change(&set))
}
