//! GETFH, RFC 8881 §18.8.

use super::context::Context;
use super::row::{HANDLE, Row};
use crate::failure::Failure;
use nfs::v4::Filehandle;
use vfs::FileSystem;

pub(super) const ROW: Row = Row { code: 10, statuses: &[HANDLE], reply_bytes: 44 };

/// Returns the current handle.
pub(super) fn execute<F: FileSystem>(context: &Context<'_, F>) -> Result<Filehandle, Failure> {
    Ok(context.current()?.handle(context.server.handle_key()))
}
