//! LOCKT, RFC 8881 §18.11.

use super::context::Context;
use super::lock::{LOCKS, regular_file};
use super::row::{HANDLE, NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::locks::{LockFailure, LockTestArguments};
use vfs::FileSystem;

pub(super) const ROW: Row = Row { code: 13, statuses: &[HANDLE, LOCKS], reply_bytes: NO_RESULTS_BYTES };

/// Tells whether bytes could be locked.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &LockTestArguments,
) -> Result<Result<(), LockFailure>, Failure> {
    let file = regular_file(context).await?;
    Ok(context.state().lock_test(context.client()?, &file.key(), arguments, context.uptime()))
}
