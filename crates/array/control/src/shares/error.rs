//! Conditions of shares.

use crate::condition::{Class, Condition, Parameters, User};
use thiserror::Error;

/// Reason why a request for a share was not executed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ShareError {
    /// The share has snapshots, and the request does not include their deletion.
    #[error("share {name} has {} snapshot{}", users.len(), if users.len() == 1 { "" } else { "s" })]
    HasSnapshots {
        /// The share.
        name: String,
        /// Its snapshots.
        users: Vec<User>,
    },
    /// The file system of the share is not open.
    #[error("share {name} is not open: the array serves no files at present")]
    NotOpen {
        /// The share.
        name: String,
    },
    /// The source of the share is a volume.
    #[error("{name} is {}volume: only a volume can be cloned from it", if name.contains('@') { "a snapshot of a " } else { "a " })]
    SourceIsVolume {
        /// Name of the volume or snapshot.
        name: String,
    },
    /// No protocol serves the share.
    #[error("share {name} needs a protocol: v3, v4 or both")]
    NoProtocol {
        /// The share.
        name: String,
    },
    /// Permission bits out of range.
    #[error("mode {mode:o} is out of range: permission bits are 0 to 7777")]
    InvalidMode {
        /// Requested bits.
        mode: u32,
    },
    /// The pool has no limit for the space of a share.
    #[error("a quota is not supported: the pool has no limit for the space of a share")]
    QuotaUnsupported,
    /// The array makes only copies that share blocks.
    #[error("physical copies are not supported: a copy within the array shares the blocks of its source")]
    PhysicalCopyUnsupported,
    /// All epochs have been used.
    #[error("share {name} has no further filehandles: they were replaced {} times", u32::MAX)]
    NoFurtherHandles {
        /// The share.
        name: String,
    },
}

impl Condition for ShareError {
    fn code(&self) -> &'static str {
        match self {
            Self::HasSnapshots { .. } => "has-snapshots",
            Self::NotOpen { .. } => "share-not-open",
            Self::SourceIsVolume { .. } => "source-is-volume",
            Self::NoProtocol { .. } => "no-protocol",
            Self::InvalidMode { .. } => "invalid-mode",
            Self::QuotaUnsupported => "quota-unsupported",
            Self::PhysicalCopyUnsupported => "physical-copy-unsupported",
            Self::NoFurtherHandles { .. } => "no-further-handles",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::HasSnapshots { .. } | Self::NotOpen { .. } | Self::NoFurtherHandles { .. } => Class::Conflict,
            Self::SourceIsVolume { .. }
            | Self::NoProtocol { .. }
            | Self::InvalidMode { .. }
            | Self::QuotaUnsupported
            | Self::PhysicalCopyUnsupported => Class::Invalid,
        }
    }

    fn users(&self) -> &[User] {
        match self {
            Self::HasSnapshots { users, .. } => users,
            _ => &[],
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::HasSnapshots { .. } => "delete them with the share",
            Self::NotOpen { .. } => "configure NFS, and restart the array",
            Self::SourceIsVolume { .. } => "clone it as a volume",
            Self::QuotaUnsupported => "create the share without a quota, and watch the thresholds of the pool",
            Self::PhysicalCopyUnsupported => "create the share with the copy policy 'share'",
            Self::NoProtocol { .. } | Self::InvalidMode { .. } | Self::NoFurtherHandles { .. } => return None,
        };
        Some(help.to_owned())
    }

    fn parameters(&self) -> Parameters {
        match self {
            Self::SourceIsVolume { name } => vec![("source", name.clone())],
            Self::HasSnapshots { name, .. }
            | Self::NotOpen { name }
            | Self::NoProtocol { name }
            | Self::NoFurtherHandles { name } => vec![("share", name.clone())],
            Self::InvalidMode { .. } | Self::QuotaUnsupported | Self::PhysicalCopyUnsupported => Vec::new(),
        }
    }
}
