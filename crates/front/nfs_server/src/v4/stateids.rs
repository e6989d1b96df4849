//! Stateids of operations on content, RFC 8881 §8.2.

use super::context::Context;
use super::object::File;
use crate::failure::Failure;
use nfs::v4::{Stateid, Status};
use nfs_state::{Io, IoAccess};
use vfs::{FileSystem, Right};

pub(super) use nfs_state::IoAccess as Use;

/// Right that a stateid gives to the content of the current file.
pub(super) fn state_check<F: FileSystem>(
    context: &Context<'_, F>,
    stateid: &Stateid,
    wanted: Use,
) -> Result<Right, Failure> {
    let stateid = context.stateids.resolve(stateid)?;
    Ok(check(context, &context.file()?, stateid, wanted)?)
}

/// Right that a stateid gives to the content of the saved file.
pub(super) fn saved_state_check<F: FileSystem>(
    context: &Context<'_, F>,
    stateid: &Stateid,
    wanted: Use,
) -> Result<Right, Failure> {
    let stateid = context.stateids.resolve_saved(stateid)?;
    Ok(check(context, &context.saved_file()?, stateid, wanted)?)
}

fn check<F: FileSystem>(
    context: &Context<'_, F>,
    file: &File<F>,
    stateid: Stateid,
    access: IoAccess,
) -> Result<Right, Status> {
    let (client, user) = (context.client()?, file.export.permit.caller.user());
    match context.state().check_io(client, user, &file.key(), &stateid, access, context.uptime())? {
        Io::Open => Ok(Right::Opened),
        Io::Special | Io::OpenForWriting | Io::OpenOfOther => Ok(Right::Mode),
    }
}
