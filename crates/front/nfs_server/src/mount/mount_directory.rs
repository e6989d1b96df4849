//! MNT, RFC 1813 appendix I §5.2.1.

use super::mounts::{Mounted, Mounts};
use super::path;
use crate::v3::context::{Context, File};
use crate::v3::failure::{self, Reason, Unknown};
use nfs::mount::{self, Path, Status};
use nfs::v3;
use onc_rpc::auth::Flavor;
use std::cell::RefCell;
use vfs::{FileSystem, FsError, Name};

/// Accepted flavors, the preferred one first.
const FLAVORS: [Flavor; 2] = [Flavor::SYS, Flavor::NONE];

/// Why a directory was not mounted.
enum Refused {
    Status(Status),
    File(FsError),
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl From<FsError> for Refused {
    fn from(error: FsError) -> Self {
        Self::File(error)
    }
}

/// Mounts a share, or a directory below one.
///
/// * `ACCES`: there is no such share, or it is not for the caller; the two are not told apart.
/// * `NOENT`, `NOTDIR`: no such directory below the share.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    mounts: &RefCell<Mounts>,
    path: &Path,
) -> Result<Result<mount::Mounted, Status>, Unknown> {
    match mount(context, mounts, path).await {
        Ok(mounted) => Ok(Ok(mounted)),
        Err(Refused::Status(status)) => Ok(Err(status)),
        Err(Refused::File(error)) => failure::status(&Reason::File(error)).map(|status| Err(of_v3(status))),
    }
}

async fn mount<F: FileSystem>(
    context: &Context<'_, F>,
    mounts: &RefCell<Mounts>,
    path: &Path,
) -> Result<mount::Mounted, Refused> {
    let names = path::components(path)?;
    let (name, below) = names.split_first().ok_or(Status::ACCES)?;
    let share = context.shares().by_name(name).cloned().ok_or(Status::ACCES)?;
    let root = context.open(&share, share.file_system.root()).map_err(|_| Status::ACCES)?;
    let directory = walk(&root, below).await?;
    let client = context.call.connection.client.ip().to_canonical();
    mounts.borrow_mut().add(Mounted { client, object: share.object, path: path::normal(&names) });
    Ok(mount::Mounted { handle: root.handle(directory), flavors: FLAVORS.to_vec().into() })
}

/// Directory below the root of a share, found with the permissions of the caller.
async fn walk<F: FileSystem>(root: &File<'_, F>, below: &[Name]) -> Result<vfs::FileId, FsError> {
    let mut file = root.files().attributes(root.id).await?;
    for name in below {
        file = root.files().lookup(root.call(), file.file, name).await?.file;
    }
    FsError::need_directory(file.kind)?;
    Ok(file.file)
}

/// Status of MOUNT for one of NFSv3. MOUNT has fewer.
pub(super) fn of_v3(status: v3::Status) -> Status {
    match status {
        v3::Status::PERM => Status::PERM,
        v3::Status::NOENT | v3::Status::STALE => Status::NOENT,
        v3::Status::IO => Status::IO,
        v3::Status::ACCES => Status::ACCES,
        v3::Status::NOTDIR => Status::NOTDIR,
        v3::Status::INVAL => Status::INVAL,
        v3::Status::NAMETOOLONG => Status::NAMETOOLONG,
        v3::Status::NOTSUPP => Status::NOTSUPP,
        _ => Status::SERVERFAULT,
    }
}
