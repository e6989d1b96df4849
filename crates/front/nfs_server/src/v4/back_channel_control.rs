//! BACKCHANNEL_CTL, RFC 8881 §18.33.

use super::context::Context;
use super::row::{NO_RESULTS_BYTES, Row};
use crate::failure::Failure;
use nfs::v4::Status;
use nfs::v4::session::BackChannelArguments;
use vfs::FileSystem;

pub(super) const ROW: Row = Row { code: 40, statuses: &[&[Status::NOENT]], reply_bytes: NO_RESULTS_BYTES };

/// Changes program and credential of callbacks of the session.
pub(super) fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &BackChannelArguments,
) -> Result<(), Failure> {
    Ok(context.state().back_channel_control(context.admitted()?, arguments)?)
}
