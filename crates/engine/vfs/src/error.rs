//! Errors of a file system. One variant for each condition, with the values that a protocol needs to
//! choose its status.

use crate::{FileId, Kind, NameError, Timestamp};
use thiserror::Error;

/// Permission of mode bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Read content, list a directory.
    Read,
    /// Change content, change the entries of a directory.
    Write,
    /// Execute a file, look a name up in a directory.
    Execute,
}

/// Space that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceReason {
    /// Blocks of the pool for new content.
    Pool,
    /// Blocks of the pool for a promise: an allocation, or its growth because content becomes
    /// shared.
    Promise,
    /// Address ranges for files of this size.
    Regions,
    /// Numbers of files.
    Files,
    /// Allocations that do not touch, in one file.
    Allocations,
    /// Entries of one directory whose names have the same hash value.
    Collisions,
}

/// Reason why an operation failed. After [`Self::Stopped`] its change may have taken effect, and may
/// be there after a restart. With any other reason nothing was changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FsError {
    /// The bytes are no name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The directory has no such entry, or a file that has no name left should get one.
    #[error("no such file or directory")]
    NotFound,
    /// The name is taken.
    #[error("the name exists already, for {kind}")]
    Exists {
        /// File that has the name.
        file: FileId,
        /// Its kind.
        kind: Kind,
    },
    /// The call needs a directory.
    #[error("not a directory but {kind}")]
    NotDirectory {
        /// Kind of the file.
        kind: Kind,
    },
    /// The call does not work with directories.
    #[error("it is a directory")]
    IsDirectory,
    /// The call needs another kind of file; a directory gives [`Self::IsDirectory`].
    #[error("the operation does not work with {kind}")]
    WrongKind {
        /// Kind of the file.
        kind: Kind,
    },
    /// The directory has entries.
    #[error("the directory is not empty")]
    NotEmpty,
    /// A directory cannot become its own descendant.
    #[error("a directory cannot be moved below itself")]
    IntoItself,
    /// The file has as many links as it may have.
    #[error("the file has {limit} links, and no more are possible")]
    TooManyLinks {
        /// Most links.
        limit: u32,
    },
    /// Mode bits do not permit the call.
    #[error("permission denied: {needs:?}")]
    Denied {
        /// Missing permission.
        needs: Permission,
    },
    /// Only the owner may do this, or only user 0.
    #[error("only the owner may do this")]
    NotOwner,
    /// The file system is read-only (a snapshot).
    #[error("the file system is read-only")]
    ReadOnly,
    /// The file no longer exists, or never did.
    #[error("the file no longer exists")]
    Stale,
    /// The file system was deleted.
    #[error("the file system no longer exists")]
    Gone,
    /// The file was changed at another time than the caller knows.
    #[error("the file was changed meanwhile")]
    GuardMismatch {
        /// Time of its last change.
        changed: Timestamp,
    },
    /// The name leads to another file than the caller expects ([`crate::Expect`]). Look it up
    /// again and retry.
    #[error("the name leads to another file now")]
    NameChanged {
        /// File that has the name.
        file: Option<FileId>,
    },
    /// A roll-back replaced the content of the file system while the call took its steps. A retry works
    /// with the new content.
    #[error("the content of the file system was replaced meanwhile")]
    Replaced,
    /// The file would become larger than a file can be.
    #[error("a file has at most {limit_bytes} bytes")]
    FileTooLarge {
        /// Largest size.
        limit_bytes: u64,
    },
    /// The range ends beyond 2⁶⁴ bytes, or is empty where that has no meaning.
    #[error("the range is empty or does not end within 64 bits")]
    BadRange,
    /// The call is longer than [`crate::Limits`] allow.
    #[error("{bytes} bytes in one call, and the file system takes {limit_bytes}")]
    TooLong {
        /// Bytes of the call.
        bytes: u64,
        /// Most bytes of one call.
        limit_bytes: u64,
    },
    /// The call needs multiples of a unit.
    #[error("offset or length is not a multiple of {unit_bytes} bytes")]
    Misaligned {
        /// Unit.
        unit_bytes: u32,
    },
    /// The range does not lie inside the file.
    #[error("the range ends behind the file's {size_bytes} bytes")]
    BeyondEnd {
        /// Size of the file.
        size_bytes: u64,
    },
    /// Source and destination overlap.
    #[error("source and destination overlap")]
    Overlap,
    /// The source belongs to another engine. Such a copy has to read and write.
    #[error("the source belongs to another pool")]
    ForeignSource,
    /// Space is missing.
    #[error("no space: {0:?}")]
    NoSpace(SpaceReason),
    /// The file system would use more than its ceiling.
    #[error("the file system has used its quota")]
    Quota,
    /// The file has no such extended attribute.
    #[error("no such extended attribute")]
    NoXattr,
    /// The file has this extended attribute already.
    #[error("the extended attribute exists already")]
    XattrExists,
    /// The extended attributes of the file would exceed their limits.
    #[error("the extended attributes of a file have at most {limit_bytes} bytes and {limit_names} names")]
    XattrsTooLarge {
        /// Most bytes of names and values.
        limit_bytes: u32,
        /// Most names.
        limit_names: u32,
    },
    /// Stored data cannot be trusted: a read failed or a checksum does not match.
    #[error("unrecovered read error in file {}", file.0)]
    ReadFailed {
        /// File with the damage: the source of a copy, or the directory of a look-up.
        file: FileId,
        /// Offset known to be unreadable, for content of a regular file.
        offset_bytes: Option<u64>,
    },
    /// The file system cannot carry out the call although its pool works.
    #[error("the file system cannot carry out the call: {reason}")]
    Internal {
        /// Cause, for the log.
        reason: String,
    },
    /// The pool stopped after an error of its medium, or was closed; nothing more is acknowledged.
    #[error("the pool stopped: {reason}")]
    Stopped {
        /// Cause, for the log.
        reason: String,
    },
}

impl FsError {
    /// Error for a file of this kind where a directory is needed.
    pub const fn need_directory(kind: Kind) -> Result<(), Self> {
        if matches!(kind, Kind::Directory) { Ok(()) } else { Err(Self::NotDirectory { kind }) }
    }

    /// Error for a file of this kind where a regular file is needed.
    pub const fn need_file(kind: Kind) -> Result<(), Self> {
        match kind {
            Kind::File => Ok(()),
            Kind::Directory => Err(Self::IsDirectory),
            kind => Err(Self::WrongKind { kind }),
        }
    }
}
