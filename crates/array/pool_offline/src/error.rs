//! Errors of the offline commands. This is the one place where an error becomes an exit status, a
//! stable code and advice.

use std::io::ErrorKind;

use media::{MediaError, OpenError};
use pool::PoolError;
use thiserror::Error;

use crate::{EXIT_DENIED, EXIT_FAILED, EXIT_IN_USE, EXIT_NOT_FOUND};

/// Reason why a command failed. The file was not changed, except by an interrupted repair or change
/// of identity.
#[derive(Debug, Error)]
pub enum CheckError {
    /// The file or device cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The file has no pool that this release can open: it is blank, foreign, truncated, of a newer
    /// version, or has too few intact superblock copies.
    #[error("{path}: {reason}")]
    NoPool {
        /// Path as given.
        path: String,
        /// Content of the file: blank, foreign, truncated or of a newer version.
        reason: MediaError,
    },
    /// The superblocks are good, but the checkpoint or the log is damaged.
    #[error("{path}: the pool cannot be opened: {reason}")]
    Unrecoverable {
        /// Path as given.
        path: String,
        /// Description of the damage.
        reason: PoolError,
    },
    /// Parts of the map are unreadable, so a repair cannot prove which blocks are in use.
    #[error(
        "{path}: {count} pages of the map cannot be read, so that it cannot be proven which blocks are in use; nothing was changed"
    )]
    Unprovable {
        /// Path as given.
        path: String,
        /// Lost parts, a sentence each.
        damage: Vec<String>,
        /// Number of unreadable pages.
        count: u64,
    },
    /// The requested object or structure does not exist.
    #[error("{path}: {what}")]
    NotThere {
        /// Path as given.
        path: String,
        /// Description, such as `there is no object 9999`.
        what: String,
    },
    /// A block that should be shown as a map page is not one.
    #[error("{path}: block {address} cannot be shown as a map page: {reason}")]
    NoPage {
        /// Path as given.
        path: String,
        /// Number of the block.
        address: u64,
        /// Description of its content or damage.
        reason: String,
    },
    /// The pool consists of several files or devices.
    #[error("{path}: the pool lies on {members} files or devices, which name each other by their paths")]
    SeveralMembers {
        /// Path as given.
        path: String,
        /// Number of files or devices.
        members: usize,
    },
    /// A document in the pool does not have the format of this release.
    #[error("{path}: document {key} cannot be read: {reason}")]
    Document {
        /// Path as given.
        path: String,
        /// Key of the document.
        key: String,
        /// Error of the parser.
        reason: serde_json::Error,
    },
    /// The pool refused the change.
    #[error("{path}: the change was refused: {reason}; nothing was changed")]
    Unchanged {
        /// Path as given.
        path: String,
        /// Reason of the refusal.
        reason: PoolError,
    },
    /// The check started and could not continue.
    #[error("{path}: the check could not go on: {reason}")]
    Interrupted {
        /// Path as given.
        path: String,
        /// Reason of the failure.
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

    /// Further sentences, if there are any.
    pub fn details(&self) -> &[String] {
        match self {
            Self::Unprovable { damage, .. } => damage,
            _ => &[],
        }
    }

    /// Recommended action.
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
