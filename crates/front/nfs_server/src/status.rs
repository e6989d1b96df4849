//! The place where an error of a file system becomes the status of a protocol: one function for
//! NFSv4, one for NFSv3. Neither has a `_` arm, so that a new error has to choose.

use nfs::{v3, v4};
use vfs::{FsError, Kind, NameError};

/// Statuses of NFSv4 that say what an error says, the most exact one first: the first that the operation
/// may return is the answer. `None`: the call gets no reply, because nobody knows its outcome.
pub(crate) fn v4(error: &FsError) -> Option<&'static [v4::Status]> {
    use v4::Status as S;
    const INVAL: &[S] = &[S::INVAL];
    const NOSPC: &[S] = &[S::NOSPC];
    Some(match error {
        FsError::Name(NameError::Empty | NameError::NotUtf8) => INVAL,
        FsError::Name(NameError::TooLong { .. }) => &[S::NAMETOOLONG, S::INVAL],
        FsError::Name(NameError::BadCharacter) => &[S::BADCHAR, S::INVAL],
        FsError::Name(NameError::Dots) => &[S::BADNAME, S::INVAL],
        FsError::NotFound => &[S::NOENT, S::STALE],
        FsError::Exists { .. } | FsError::XattrExists => &[S::EXIST],
        FsError::NotDirectory { kind: Kind::Symlink } => &[S::SYMLINK, S::NOTDIR],
        FsError::NotDirectory { .. } => &[S::NOTDIR],
        FsError::IsDirectory => &[S::ISDIR, S::WRONG_TYPE, S::INVAL],
        FsError::WrongKind { kind: Kind::Symlink } => &[S::SYMLINK, S::WRONG_TYPE, S::INVAL],
        FsError::WrongKind { .. } => &[S::WRONG_TYPE, S::INVAL],
        FsError::NotEmpty => &[S::NOTEMPTY],
        FsError::IntoItself
        | FsError::BadRange
        | FsError::TooLong { .. }
        | FsError::Misaligned { .. }
        | FsError::Overlap => INVAL,
        FsError::BeyondEnd { .. } => &[S::NXIO, S::INVAL],
        FsError::TooManyLinks { .. } => &[S::MLINK],
        FsError::Denied { .. } => &[S::ACCESS],
        FsError::NotOwner => &[S::PERM, S::ACCESS],
        FsError::ReadOnly => &[S::ROFS],
        FsError::Stale | FsError::Gone => &[S::STALE],
        FsError::GuardMismatch { .. } | FsError::NameChanged { .. } | FsError::Replaced => &[S::DELAY],
        FsError::FileTooLarge { .. } => &[S::FBIG, S::INVAL],
        FsError::ForeignSource => &[S::XDEV],
        FsError::NoSpace(_) => NOSPC,
        FsError::Quota => &[S::DQUOT, S::NOSPC],
        FsError::NoXattr => &[S::NOXATTR],
        FsError::XattrsTooLarge { .. } => &[S::XATTR2BIG],
        FsError::ReadFailed { .. } => &[S::IO],
        FsError::Internal { .. } => &[S::SERVERFAULT],
        FsError::Stopped { .. } => return None,
    })
}

/// Status of NFSv3 for an error. `None`: the call gets no reply, because nobody knows its outcome.
pub(crate) fn v3(error: &FsError) -> Option<v3::Status> {
    use v3::Status as S;
    Some(match error {
        FsError::Name(NameError::TooLong { .. }) => S::NAMETOOLONG,
        FsError::Name(NameError::Empty | NameError::NotUtf8 | NameError::BadCharacter | NameError::Dots) => S::INVAL,
        FsError::NotFound => S::NOENT,
        FsError::Exists { .. } => S::EXIST,
        FsError::NotDirectory { .. } => S::NOTDIR,
        FsError::IsDirectory => S::ISDIR,
        FsError::NotEmpty => S::NOTEMPTY,
        FsError::WrongKind { .. }
        | FsError::IntoItself
        | FsError::BadRange
        | FsError::TooLong { .. }
        | FsError::Misaligned { .. }
        | FsError::Overlap
        | FsError::BeyondEnd { .. } => S::INVAL,
        FsError::TooManyLinks { .. } => S::MLINK,
        FsError::Denied { .. } => S::ACCES,
        FsError::NotOwner => S::PERM,
        FsError::ReadOnly => S::ROFS,
        FsError::Stale | FsError::Gone => S::STALE,
        FsError::GuardMismatch { .. } => S::NOT_SYNC,
        FsError::NameChanged { .. } | FsError::Replaced => S::JUKEBOX,
        FsError::FileTooLarge { .. } => S::FBIG,
        FsError::ForeignSource => S::XDEV,
        FsError::NoSpace(_) => S::NOSPC,
        FsError::Quota => S::DQUOT,
        FsError::NoXattr | FsError::XattrExists | FsError::XattrsTooLarge { .. } => S::NOTSUPP,
        FsError::ReadFailed { .. } => S::IO,
        FsError::Internal { .. } => S::SERVERFAULT,
        FsError::Stopped { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_pool_gives_no_reply() {
        let stopped = FsError::Stopped { reason: String::new() };
        assert_eq!((v4(&stopped), v3(&stopped)), (None, None));
    }

    #[test]
    fn a_link_in_the_place_of_a_directory_is_told_apart_by_version_4_alone() {
        let error = FsError::NotDirectory { kind: Kind::Symlink };
        assert_eq!(v4(&error).and_then(|all| all.first()), Some(&v4::Status::SYMLINK));
        assert_eq!(v3(&error), Some(v3::Status::NOTDIR));
        let error = FsError::WrongKind { kind: Kind::Fifo };
        assert_eq!(v4(&error).and_then(|all| all.first()), Some(&v4::Status::WRONG_TYPE));
        assert_eq!(v3(&error), Some(v3::Status::INVAL));
    }

    #[test]
    fn names_have_statuses_of_their_own() {
        use v4::Status as S;
        for (error, four, three) in [
            (NameError::Empty, S::INVAL, v3::Status::INVAL),
            (NameError::TooLong { bytes: 256, limit_bytes: 255 }, S::NAMETOOLONG, v3::Status::NAMETOOLONG),
            (NameError::NotUtf8, S::INVAL, v3::Status::INVAL),
            (NameError::BadCharacter, S::BADCHAR, v3::Status::INVAL),
            (NameError::Dots, S::BADNAME, v3::Status::INVAL),
        ] {
            let error = FsError::Name(error);
            assert_eq!((v4(&error).and_then(|all| all.first().copied()), v3(&error)), (Some(four), Some(three)));
        }
    }
}
