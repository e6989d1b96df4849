//! BIND_CONN_TO_SESSION, RFC 8881 §18.34.

use super::context::Context;
use super::row::{NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::Status;
use nfs::v4::session::{BindArguments, BindOk};
use vfs::FileSystem;

pub(super) const ROW: Row = Row {
    code: 41,
    statuses: &[&[Status::BADSESSION, Status::INVAL, Status::NOT_ONLY_OP]],
    reply_bytes: NO_RESULTS_BYTES + 24,
};

/// Binds the connection of the call to a session.
pub(super) fn execute<F: FileSystem>(context: &Context<'_, F>, arguments: &BindArguments) -> Result<BindOk, Failure> {
    Ok(context.state().bind_connection(context.sender().connection, arguments)?)
}
