//! CREATE_SESSION, RFC 8881 §18.36.

use super::context::Context;
use super::row::{NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::Status;
use nfs::v4::session::{CreateSessionArguments, CreateSessionOk};
use vfs::FileSystem;

pub(super) const ROW: Row = Row {
    code: 43,
    statuses: &[&[
        Status::CLID_INUSE,
        Status::INVAL,
        Status::NOENT,
        Status::NOSPC,
        Status::NOT_ONLY_OP,
        Status::SEQ_MISORDERED,
        Status::STALE_CLIENTID,
        Status::TOOSMALL,
    ]],
    reply_bytes: NO_RESULTS_BYTES,
};

/// Confirms a client, and makes a session for it.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &CreateSessionArguments,
) -> Result<Box<CreateSessionOk>, Failure> {
    let check = context.server.random();
    let created = context.state().create_session(&context.sender(), arguments, check, context.uptime())?;
    // The confirmation of a client ends its earlier instance.
    context.server.barred_pieces_ended().await;
    Ok(created)
}
