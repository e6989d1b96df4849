//! EXCHANGE_ID, RFC 8881 §18.35.

use super::context::Context;
use super::row::{NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::Status;
use nfs::v4::session::{ExchangeIdArguments, ExchangeIdOk};
use vfs::FileSystem;

pub(super) const ROW: Row = Row {
    code: 42,
    statuses: &[&[
        Status::CLID_INUSE,
        Status::ENCR_ALG_UNSUPP,
        Status::HASH_ALG_UNSUPP,
        Status::INVAL,
        Status::NOENT,
        Status::NOT_ONLY_OP,
        Status::NOT_SAME,
        Status::PERM,
    ]],
    reply_bytes: NO_RESULTS_BYTES,
};

/// Gives a client its id.
pub(super) fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &ExchangeIdArguments,
) -> Result<Box<ExchangeIdOk>, Failure> {
    Ok(context.state().exchange_id(&context.sender(), arguments, context.minor, context.uptime())?)
}
