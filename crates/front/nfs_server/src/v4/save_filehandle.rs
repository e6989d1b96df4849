//! SAVEFH, RFC 8881 §18.28.

use super::context::Context;
use super::row::{HANDLE, NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use vfs::FileSystem;

pub(super) const ROW: Row = Row { code: 32, statuses: &[HANDLE], reply_bytes: NO_RESULTS_BYTES };

/// Saves the current handle with its stateid.
pub(super) fn execute<F: FileSystem>(context: &mut Context<'_, F>) -> Result<(), Failure> {
    Ok(context.save()?)
}
