//! GETXATTR, RFC 8276 §8.4.1.

use super::context::Context;
use super::object::File;
use super::row::{HANDLE, NAME, Row};
use super::xattr_name::{Found, Own, find};
use crate::failure::Failure;
use nfs::v4::{Name, Status, Text};
use vfs::{FileSystem, FsError, Permission, policy};

pub(super) const ROW: Row =
    Row { code: 72, statuses: &[HANDLE, NAME, &[Status::NOXATTR, Status::WRONG_TYPE]], reply_bytes: 12 };

/// Returns the value of an extended attribute.
pub(super) async fn execute<F: FileSystem>(context: &Context<'_, F>, name: Name) -> Result<Text, Failure> {
    let file = supporting_file(context)?;
    match find(name)? {
        Found::Stored(name) => {
            let value = file.export.files().xattr(context.call(&file), file.id, &name).await?;
            Ok(value.into())
        }
        Found::Own(own) => own_value(context, &file, own).await,
    }
}

async fn own_value<F: FileSystem>(context: &Context<'_, F>, file: &File<F>, own: Own) -> Result<Text, Failure> {
    let files = file.export.files();
    let attributes = files.attributes(file.id).await?;
    match FsError::need_file(attributes.kind) {
        Ok(()) => {}
        // A directory has extended attributes, but none of these.
        Err(FsError::IsDirectory) => return Err(FsError::NoXattr.into()),
        Err(error) => return Err(error.into()),
    }
    policy::check(&attributes, context.call(file).caller, Permission::Read)?;
    let space = files.space(file.id).await?;
    Ok(own.value(&attributes, &space).into_bytes().into())
}

/// The current file. The pseudo root has no extended attributes.
pub(super) fn supporting_file<F: FileSystem>(context: &Context<'_, F>) -> Result<File<F>, Failure> {
    Ok(context.current()?.file().map_err(|_| Status::NOTSUPP)?.clone())
}
