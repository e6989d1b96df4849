//! Why a check could not be done. This is the one place where such a reason becomes an exit status, a stable code and advice.

use std::io::ErrorKind;

use media::{MediaError, OpenError};
use pool::PoolError;
use thiserror::Error;

use crate::{EXIT_DENIED, EXIT_FAILED, EXIT_IN_USE, EXIT_NOT_FOUND};

/// Why a pool could not be checked. The file was not changed.
#[derive(Debug, Error)]
pub enum CheckError {
    /// The file or device cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is no pool, or none that this release can open: blank, foreign, cut off, newer, or damaged beyond its superblock copies.
    #[error("{path}: {reason}")]
    NoPool {
        /// Path as given.
        path: String,
        /// Says what is there instead.
        reason: MediaError,
    },
    /// The superblocks are good, but the checkpoint or the log is damaged.
    #[error("{path}: the pool cannot be opened: {reason}")]
    Unrecoverable {
        /// Path as given.
        path: String,
        /// Says what is damaged.
        reason: PoolError,
    },
    /// Parts of the map cannot be read, so that a repair cannot prove which blocks are in use.
    #[error(
        "{path}: {count} pages of the map cannot be read, so that it cannot be proven which blocks are in use; nothing was changed"
    )]
    Unprovable {
        /// Path as given.
        path: String,
        /// What is lost, a sentence each.
        damage: Vec<String>,
        /// Pages that cannot be read.
        count: u64,
    },
    /// What was to be shown is not there.
    #[error("{path}: {what}")]
    NotThere {
        /// Path as given.
        path: String,
        /// `there is no object 9999`.
        what: String,
    },
    /// A block that was to be shown as a map page is none.
    #[error("{path}: block {address} cannot be shown as a map page: {reason}")]
    NoPage {
        /// Path as given.
        path: String,
        /// The block.
        address: u64,
        /// What it is instead, or what is wrong with it.
        reason: String,
    },
    /// The pool lies on several files or devices.
    #[error("{path}: the pool lies on {members} files or devices, which name each other by their paths")]
    SeveralMembers {
        /// Path as given.
        path: String,
        /// Number of files or devices.
        members: usize,
    },
    /// A document in the pool is not what this release writes.
    #[error("{path}: document {key} cannot be read: {reason}")]
    Document {
        /// Path as given.
        path: String,
        /// Key of the document.
        key: String,
        /// Says what is wrong.
        reason: serde_json::Error,
    },
    /// The pool took no change.
    #[error("{path}: the change was refused: {reason}; nothing was changed")]
    Unchanged {
        /// Path as given.
        path: String,
        /// Says why.
        reason: PoolError,
    },
    /// The check began and could not go on.
    #[error("{path}: the check could not go on: {reason}")]
    Interrupted {
        /// Path as given.
        path: String,
        /// Says why.
        reason: PoolError,
    },
}

impl CheckError {
    /// Exit status of the command.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Open(OpenError::NotFound { .. }) | Self::NotThere { .. } => EXIT_NOT_FOUND,
            Self::Open(OpenError::InUse { .. } | OpenError::Busy { .. }) => EXIT_IN_USE,
            Self::Open(OpenError::System { reason, .. }) if reason.kind() == ErrorKind::PermissionDenied => EXIT_DENIED,
            Self::Open(_)
            | Self::NoPool { .. }
            | Self::NoPage { .. }
            | Self::Unprovable { .. }
            | Self::Unrecoverable { .. }
            | Self::SeveralMembers { .. }
            | Self::Document { .. }
            | Self::Unchanged { .. }
            | Self::Interrupted { .. } => EXIT_FAILED,
        }
    }

    /// Stable name of the condition.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Open(OpenError::NotFound { .. }) | Self::NotThere { .. } => "not-found",
            Self::NoPage { .. } => "no-page",
            Self::Open(OpenError::InUse { .. } | OpenError::Busy { .. }) => "in-use",
            Self::Open(OpenError::System { reason, .. }) if reason.kind() == ErrorKind::PermissionDenied => "denied",
            Self::Open(OpenError::Member { .. }) => "member",
            Self::Open(OpenError::NotADisk { .. } | OpenError::SectorSize { .. } | OpenError::System { .. }) => {
                "cannot-open"
            }
            Self::NoPool { .. } => "no-pool",
            Self::Unprovable { .. } => "unprovable",
            Self::SeveralMembers { .. } => "several-members",
            Self::Document { .. } => "document",
            Self::Unchanged { .. } => "refused",
            Self::Unrecoverable { .. } | Self::Interrupted { .. } => "damaged",
        }
    }

    /// More sentences about it, if there are.
    pub fn details(&self) -> &[String] {
        match self {
            Self::Unprovable { damage, .. } => damage,
            _ => &[],
        }
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Open(OpenError::InUse { .. } | OpenError::Busy { .. }) => {
                "the command needs a pool that no daemon serves: stop the daemon, or use a copy of the file"
            }
            Self::Open(OpenError::System { reason, .. }) if reason.kind() == ErrorKind::PermissionDenied => {
                "run the command as the user that owns the pool"
            }
            Self::Open(OpenError::Member { .. }) => {
                "a pool of several files or devices is opened by its first, with all others where they were or beside it"
            }
            Self::Open(_) => {
                "give the path of a pool, a file or a block device; a daemon keeps its pool in its state directory"
            }
            Self::NoPool { .. } => {
                "if this is not the pool you meant, give its path; if it is, keep it as it is and restore a copy of it"
            }
            Self::NotThere { .. } => "see what there is:  windlass pool dump FILE objects, or root",
            Self::NoPage { .. } => "see what the block is for:  windlass pool dump FILE block ADDRESS",
            Self::Unprovable { .. } => {
                "copy what can still be read of these volumes, look for errors of the device below the file, and restore a copy"
            }
            Self::SeveralMembers { .. } => {
                "copy its volumes instead, to a pool of their own; a copy of these files would open those of the original"
            }
            Self::Document { .. } => "use the release of Windlass that wrote the pool last",
            Self::Unchanged { .. } => "a full pool takes no change: serve it, delete what is not needed, and try again",
            Self::Unrecoverable { .. } | Self::Interrupted { .. } => {
                "keep the file as it is and do not serve it; see what `windlass pool repair FILE --dry-run` could mend, look for errors of the device below it, or restore a copy"
            }
        }
    }
}
