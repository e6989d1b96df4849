//! GETATTR, RFC 8881 §18.7.

use super::context::Context;
use super::row::{HANDLE, Row};
use super::subject::gather;
use crate::attributes::check_readable;
use crate::failure::Failure;
use nfs::v4::attributes::Fattr;
use nfs::v4::{Bitmap, Status};
use vfs::FileSystem;

pub(super) const ROW: Row =
    Row { code: 9, statuses: &[HANDLE, &[Status::GRACE, Status::INVAL, Status::WRONG_TYPE]], reply_bytes: 16 };

/// Reads attributes. Those that are not served are left out; one that can only be set is `INVAL`.
pub(super) async fn execute<F: FileSystem>(context: &Context<'_, F>, wanted: &Bitmap) -> Result<Fattr, Failure> {
    check_readable(wanted)?;
    let gathered = gather(context, context.current()?, wanted).await?;
    Ok(gathered.subject().fattr(wanted))
}
