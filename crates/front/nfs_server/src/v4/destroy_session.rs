//! DESTROY_SESSION, RFC 8881 §18.37.

use super::context::Context;
use super::row::{NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::{SessionId, Status};
use vfs::FileSystem;

pub(super) const ROW: Row = Row {
    code: 44,
    statuses: &[&[Status::BACK_CHAN_BUSY, Status::BADSESSION, Status::NOT_ONLY_OP]],
    reply_bytes: NO_RESULTS_BYTES,
};

/// Ends a session. That of the request itself has to be the last operation.
pub(super) fn execute<F: FileSystem>(context: &Context<'_, F>, session: &SessionId) -> Result<(), Failure> {
    let own = context.admitted.as_ref().is_some_and(|admitted| admitted.result().session == *session);
    if own && !context.last {
        return Err(Status::NOT_ONLY_OP.into());
    }
    Ok(context.state().destroy_session(session, context.admitted.as_ref(), context.uptime())?)
}
