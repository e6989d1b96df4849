//! Conditions of shares.

use crate::condition::{Class, Condition, Parameters, Space, User};
use pool::MAX_CEILING_BYTES;
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
    /// A quota that is no whole number of MiB, or out of range.
    #[error(
        "a quota of {quota_bytes} bytes is not possible: quotas are multiples of 1 MiB up to {MAX_CEILING_BYTES} bytes"
    )]
    InvalidQuota {
        /// Requested quota.
        quota_bytes: u64,
    },
    /// The share would use more than its quota.
    #[error("the quota of the share does not allow it: {}", quota_words(*needed_bytes, *available_bytes))]
    QuotaExceeded {
        /// Further bytes that it would use, if known.
        needed_bytes: Option<u64>,
        /// Bytes that it can still use, if known.
        available_bytes: Option<u64>,
    },
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
            Self::InvalidQuota { .. } => "invalid-quota",
            Self::QuotaExceeded { .. } => "quota-exceeded",
            Self::NoFurtherHandles { .. } => "no-further-handles",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::HasSnapshots { .. } | Self::NotOpen { .. } | Self::NoFurtherHandles { .. } => Class::Conflict,
            Self::QuotaExceeded { .. } => Class::NoSpace,
            Self::SourceIsVolume { .. }
            | Self::NoProtocol { .. }
            | Self::InvalidMode { .. }
            | Self::InvalidQuota { .. } => Class::Invalid,
        }
    }

    fn users(&self) -> &[User] {
        match self {
            Self::HasSnapshots { users, .. } => users,
            _ => &[],
        }
    }

    fn space(&self) -> Space {
        match self {
            Self::QuotaExceeded { needed_bytes, available_bytes } => {
                Space { needed: *needed_bytes, available: *available_bytes }
            }
            _ => Space::default(),
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::HasSnapshots { .. } => "delete them with the share",
            Self::NotOpen { .. } => "configure NFS, and restart the array",
            Self::SourceIsVolume { .. } => "clone it as a volume",
            Self::QuotaExceeded { .. } => "raise the quota of the share, or delete files",
            Self::NoProtocol { .. }
            | Self::InvalidMode { .. }
            | Self::InvalidQuota { .. }
            | Self::NoFurtherHandles { .. } => return None,
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
            Self::InvalidMode { .. } | Self::InvalidQuota { .. } | Self::QuotaExceeded { .. } => Vec::new(),
        }
    }
}

/// Space that a change would need beyond a quota, in words.
fn quota_words(needed_bytes: Option<u64>, available_bytes: Option<u64>) -> String {
    match (needed_bytes, available_bytes) {
        (Some(needed), Some(available)) => {
            let [needed, available] = [needed, available].map(text::size::format);
            format!("{needed} more would be used or promised, and {available} are left")
        }
        _ => "the content would use more".to_owned(),
    }
}
