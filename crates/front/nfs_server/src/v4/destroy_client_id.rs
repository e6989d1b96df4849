//! DESTROY_CLIENTID, RFC 8881 §18.50.

use super::context::Context;
use super::row::{NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::Status;
use vfs::FileSystem;

pub(super) const ROW: Row = Row {
    code: 57,
    statuses: &[&[Status::CLIENTID_BUSY, Status::NOT_ONLY_OP, Status::STALE_CLIENTID]],
    reply_bytes: NO_RESULTS_BYTES,
};

/// Ends a client that has neither sessions nor state.
pub(super) fn execute<F: FileSystem>(context: &Context<'_, F>, client: u64) -> Result<(), Failure> {
    Ok(context.state().destroy_client(client, context.uptime())?)
}
