//! RESTOREFH, RFC 8881 §18.27.

use super::context::Context;
use super::row::{HANDLE, NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use vfs::FileSystem;

pub(super) const ROW: Row = Row { code: 31, statuses: &[HANDLE], reply_bytes: NO_RESULTS_BYTES };

/// Makes the saved handle and its stateid the current ones.
pub(super) fn execute<F: FileSystem>(context: &mut Context<'_, F>) -> Result<(), Failure> {
    Ok(context.restore()?)
}
