//! OFFLOAD_CANCEL, RFC 7862 §15.8: ends an asynchronous copy.

use super::context::Context;
use super::copies::GivenUp;
use super::offload_status::{COPY_STATEID, copy};
use super::row::{HANDLE, NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::{Stateid, Status};
use nfs_state::{Mutation, leaves_out};
use vfs::FileSystem;

pub(super) const ROW: Row = Row { code: 66, statuses: &[HANDLE, COPY_STATEID], reply_bytes: NO_RESULTS_BYTES };

/// Ends the copy, after the piece that is being copied. Then the destination has the start of the source, and the copy
/// changes it no more; no callback follows.
///
/// * `BAD_STATEID`: no copy of this client into the current file, or the client has answered its callback.
/// * `COMPLETE_ALREADY`: the copy has ended; its callback stays due.
pub(super) async fn execute<F: FileSystem>(context: &Context<'_, F>, stateid: &Stateid) -> Result<(), Failure> {
    let job = copy(context, stateid)?;
    if job.outcome().is_some() {
        return Err(Status::COMPLETE_ALREADY.into());
    }
    if !leaves_out(Mutation::CopyCancel) {
        job.stop().await;
        context.server.give_up(&job, GivenUp::Cancelled);
    }
    context.state().end_copy(stateid);
    Ok(())
}
