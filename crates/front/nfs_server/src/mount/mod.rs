//! MOUNT version 3, RFC 1813 appendix I: the first handle of a share. A share is seen by those whom a
//! rule names; permission is by address.

mod dump;
mod export;
mod mount_directory;
mod mounts;
mod path;
mod unmount;

pub(crate) use mounts::Mounts;

use crate::access::Refusal;
use crate::shares::Share;
use crate::v3::context::Context;
use crate::v3::failure::Unknown;
use nfs::mount::{Request, Results};
use std::cell::RefCell;
use vfs::FileSystem;

/// Executes a procedure.
pub(crate) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    mounts: &RefCell<Mounts>,
    request: &Request,
) -> Result<Results, Unknown> {
    let client = context.call.connection.client.ip().to_canonical();
    Ok(match request {
        Request::Null => Results::Null,
        Request::Mount(path) => Results::Mount(mount_directory::execute(context, mounts, path).await?),
        Request::Dump => Results::Dump(dump::execute(context, mounts).into()),
        Request::Unmount(path) => {
            unmount::one(mounts, client, path);
            Results::Unmount
        }
        Request::UnmountAll => {
            unmount::all(mounts, client);
            Results::UnmountAll
        }
        Request::Export => Results::Export(export::execute(context).into()),
    })
}

/// Whether the lists show a share to the caller. A wrong port is no reason to hide it.
fn sees<F>(context: &Context<'_, F>, share: &Share<F>) -> bool {
    let permit = share.rules.permit(context.call.connection.client, context.call.credential);
    share.protocols.v3 && permit != Err(Refusal::NoRule)
}

#[cfg(test)]
mod tests;
