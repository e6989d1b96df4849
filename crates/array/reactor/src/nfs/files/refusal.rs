//! Where an error of a file system becomes a refusal for the administrator.

use control::{FileError, FileRefusal};
use pool::PoolError;
use vfs::{FsError, SpaceReason};

/// Refusal of a call for the file that `path` shows. There is no arm for all others: a new error has to choose.
pub(super) fn refused(error: FsError, path: &str) -> FileRefusal {
    let path = path.to_owned();
    match error {
        FsError::Name(error) => FileError::InvalidPath { path, reason: error.to_string() }.into(),
        // The file may have been removed since its name was looked up.
        FsError::NotFound | FsError::Stale => FileError::NotFound { path }.into(),
        FsError::Exists { .. } => FileError::Exists { path }.into(),
        FsError::NotDirectory { kind } => FileError::NotDirectory { path, kind: kind.to_string() }.into(),
        FsError::IsDirectory => FileError::NotRegular { path, kind: vfs::Kind::Directory.to_string() }.into(),
        FsError::WrongKind { kind } => FileError::NotRegular { path, kind: kind.to_string() }.into(),
        FsError::ReadOnly => FileError::ReadOnly { path }.into(),
        FsError::Gone => FileRefusal::Gone,
        FsError::Quota => FileRefusal::Quota,
        FsError::FileTooLarge { limit_bytes } => FileError::TooLarge { path, limit_bytes }.into(),
        FsError::ReadFailed { .. } => FileError::Damaged { path }.into(),
        FsError::NoSpace(SpaceReason::Pool | SpaceReason::Promise) => FileRefusal::Pool(PoolError::PoolFull),
        FsError::Stopped { reason } => FileRefusal::Pool(PoolError::Stopped(reason)),
        error @ (FsError::NoSpace(
            SpaceReason::Regions | SpaceReason::Files | SpaceReason::Allocations | SpaceReason::Collisions,
        )
        | FsError::NotEmpty
        | FsError::IntoItself
        | FsError::TooManyLinks { .. }
        | FsError::Denied { .. }
        | FsError::NotOwner
        | FsError::GuardMismatch { .. }
        | FsError::NameChanged { .. }
        | FsError::Replaced
        | FsError::BadRange
        | FsError::TooLong { .. }
        | FsError::Misaligned { .. }
        | FsError::BeyondEnd { .. }
        | FsError::Overlap
        | FsError::ForeignSource
        | FsError::NoXattr
        | FsError::XattrExists
        | FsError::XattrsTooLarge { .. }
        | FsError::Internal { .. }) => FileError::Limit { path, reason: error.to_string() }.into(),
    }
}
