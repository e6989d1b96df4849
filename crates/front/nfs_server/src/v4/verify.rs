//! VERIFY and NVERIFY, RFC 8881 §18.31 and §18.15.

use super::context::Context;
use super::row::{HANDLE, NO_RESULTS_BYTES, Row};
use super::subject::gather;
use crate::failure::Failure;
use nfs::v4::Status;
use nfs::v4::attributes::Fattr;
use vfs::FileSystem;

/// Statuses that both have.
const BOTH: &[Status] = &[Status::ATTRNOTSUPP, Status::BADCHAR, Status::GRACE, Status::INVAL, Status::WRONG_TYPE];

pub(super) const NVERIFY: Row =
    Row { code: 17, statuses: &[HANDLE, BOTH, &[Status::SAME]], reply_bytes: NO_RESULTS_BYTES };

pub(super) const VERIFY: Row =
    Row { code: 37, statuses: &[HANDLE, BOTH, &[Status::NOT_SAME]], reply_bytes: NO_RESULTS_BYTES };

/// Fails with `NOT_SAME` if an attribute differs.
pub(super) async fn execute<F: FileSystem>(context: &Context<'_, F>, attributes: &Fattr) -> Result<(), Failure> {
    if equal(context, attributes).await? { Ok(()) } else { Err(Status::NOT_SAME.into()) }
}

/// Fails with `SAME` unless an attribute differs.
pub(super) async fn execute_different<F: FileSystem>(
    context: &Context<'_, F>,
    attributes: &Fattr,
) -> Result<(), Failure> {
    if equal(context, attributes).await? { Err(Status::SAME.into()) } else { Ok(()) }
}

async fn equal<F: FileSystem>(context: &Context<'_, F>, attributes: &Fattr) -> Result<bool, Failure> {
    let gathered = gather(context, context.current()?, &attributes.mask).await?;
    Ok(gathered.subject().equals(attributes)?)
}
