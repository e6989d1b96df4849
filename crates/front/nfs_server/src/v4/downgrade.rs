//! OPEN_DOWNGRADE, RFC 8881 §18.18.

use super::close::no_directory;
use super::context::Context;
use super::row::{HANDLE, NO_RESULTS_BYTES, Row, STATEID, STATEID_BYTES};
use crate::failure::Failure;
use nfs::v4::Stateid;
use nfs::v4::open::DowngradeArguments;
use vfs::FileSystem;

pub(super) const ROW: Row =
    Row { code: 21, statuses: &[HANDLE, STATEID], reply_bytes: NO_RESULTS_BYTES + STATEID_BYTES };

/// Gives up a part of what was opened.
pub(super) fn execute<F: FileSystem>(
    context: &mut Context<'_, F>,
    arguments: &DowngradeArguments,
) -> Result<Stateid, Failure> {
    let file = no_directory(context)?;
    let arguments = DowngradeArguments { stateid: context.stateids.resolve(&arguments.stateid)?, ..arguments.clone() };
    let stateid = context.state().open_downgrade(context.client()?, &file.key(), &arguments)?;
    context.stateids.set(stateid);
    Ok(stateid)
}
