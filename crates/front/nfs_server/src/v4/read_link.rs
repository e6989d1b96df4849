//! READLINK, RFC 8881 §18.24.

use super::context::Context;
use super::row::{HANDLE, Row};
use crate::failure::Failure;
use nfs::v4::{Status, Text};
use vfs::FileSystem;

pub(super) const ROW: Row =
    Row { code: 27, statuses: &[HANDLE, &[Status::INVAL, Status::WRONG_TYPE]], reply_bytes: 16 };

/// Returns the target of the current symbolic link, as stored.
pub(super) async fn execute<F: FileSystem>(context: &Context<'_, F>) -> Result<Text, Failure> {
    let file = context.file()?;
    let (target, _) = file.export.files().read_link(file.id).await?;
    Ok(target.bytes().clone().into())
}
