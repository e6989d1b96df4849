//! FREE_STATEID, RFC 8881 §18.38.

use super::context::Context;
use super::row::{NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::{Stateid, Status};
use vfs::FileSystem;

pub(super) const ROW: Row = Row {
    code: 45,
    statuses: &[&[Status::BAD_STATEID, Status::LOCKS_HELD, Status::OLD_STATEID]],
    reply_bytes: NO_RESULTS_BYTES,
};

/// Frees a stateid without locks.
pub(super) fn execute<F: FileSystem>(context: &Context<'_, F>, stateid: &Stateid) -> Result<(), Failure> {
    let stateid = context.stateids.resolve(stateid)?;
    Ok(context.state().free_stateid(context.client()?, &stateid)?)
}
