//! Stateids of operations on content, RFC 8881 §8.2. Only the special ones are known: no file is open.

use super::context::Context;
use nfs::v4::{Stateid, Status};
use vfs::{FileSystem, Right};

/// Use of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Reads it.
    Read,
    /// Changes it.
    Write,
}

/// Right that a stateid gives to the content of the current file.
pub(super) fn state_check<F: FileSystem>(
    context: &Context<'_, F>,
    stateid: &Stateid,
    wanted: Use,
) -> Result<Right, Status> {
    check(stateid, context.current_stateid(), wanted)
}

/// Right that a stateid gives to the content of the saved file.
pub(super) fn saved_state_check<F: FileSystem>(
    context: &Context<'_, F>,
    stateid: &Stateid,
    wanted: Use,
) -> Result<Right, Status> {
    check(stateid, context.saved_stateid(), wanted)
}

/// The anonymous stateid reads and writes by mode bits; so does the one that bypasses locks, as locks are
/// advisory.
fn check(stateid: &Stateid, current: Option<&Stateid>, _wanted: Use) -> Result<Right, Status> {
    let stateid = if *stateid == Stateid::CURRENT { current.ok_or(Status::BAD_STATEID)? } else { stateid };
    if *stateid == Stateid::ANONYMOUS || *stateid == Stateid::READ_BYPASS {
        Ok(Right::Mode)
    } else {
        Err(Status::BAD_STATEID)
    }
}
