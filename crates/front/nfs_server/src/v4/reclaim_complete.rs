//! RECLAIM_COMPLETE, RFC 8881 §18.51.

use super::context::Context;
use super::row::{HANDLE, NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::Status;
use vfs::FileSystem;

pub(super) const ROW: Row =
    Row { code: 58, statuses: &[HANDLE, &[Status::COMPLETE_ALREADY]], reply_bytes: NO_RESULTS_BYTES };

/// Ends the reclaims of the client. Those of one file system need its handle, and have no effect.
pub(super) fn execute<F: FileSystem>(context: &Context<'_, F>, one_file_system: bool) -> Result<(), Failure> {
    if one_file_system {
        context.current()?;
    }
    Ok(context.state().reclaim_complete(context.client()?, one_file_system, context.uptime())?)
}
