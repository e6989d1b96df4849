//! Conditions of volumes.

use crate::condition::{Class, Condition, Parameters, User};
use text::size::exact;
use thiserror::Error;

/// Reason why a request for a volume was not executed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum VolumeError {
    /// Sessions see the volume to be rolled back.
    #[error("volume {name} is in use")]
    RollbackInUse {
        /// The volume.
        name: String,
        /// The snapshot.
        snapshot: String,
        /// The sessions.
        users: Vec<User>,
    },
    /// The volume has snapshots, and the request does not include their deletion.
    #[error("volume {name} has {} snapshot{}", users.len(), if users.len() == 1 { "" } else { "s" })]
    HasSnapshots {
        /// The volume.
        name: String,
        /// Its snapshots.
        users: Vec<User>,
    },
    /// A volume that is being sanitized is deleted for good, and has snapshots, maybe in the trash.
    #[error("volume {name} is being sanitized and has {snapshots} snapshot{}", if *snapshots == 1 { "" } else { "s" })]
    SanitizedWithSnapshots {
        /// The volume.
        name: String,
        /// Number of its snapshots, those in the trash too.
        snapshots: usize,
    },
    /// Invalid size.
    #[error(
        "{} is not a valid size: sizes are multiples of 512 bytes from 512 bytes to {}",
        exact(*size_bytes),
        exact(*max_bytes)
    )]
    InvalidSize {
        /// Requested size.
        size_bytes: u64,
        /// Largest size.
        max_bytes: u64,
    },
    /// No size is given, and there is no source to take it from.
    #[error("volume {name} needs a size")]
    SizeMissing {
        /// Name of the new volume.
        name: String,
    },
    /// The source of the volume has files.
    #[error("{name} is {}share: only a share can be cloned from it", if name.contains('@') { "a snapshot of a " } else { "a " })]
    SourceIsShare {
        /// Name of the share or snapshot.
        name: String,
    },
    /// Smaller than the present size or than the source.
    #[error(
        "volume {name} cannot have {}: {} has {}, and volumes do not shrink",
        exact(*size_bytes),
        parent.as_deref().unwrap_or("it"),
        exact(*present_bytes)
    )]
    WouldShrink {
        /// The volume.
        name: String,
        /// Requested size.
        size_bytes: u64,
        /// Present size, or that of the source of a clone.
        present_bytes: u64,
        /// Name of the source of a clone.
        parent: Option<String>,
    },
    /// Invalid share.
    #[error("an overwrite reserve of {percent} % is not possible: 0 to 100")]
    BadReservation {
        /// Requested share.
        percent: u8,
    },
    /// A thin volume has no overwrite reserve.
    #[error("volume {name} is thin: only a thick volume has an overwrite reserve")]
    NotThick {
        /// The volume.
        name: String,
    },
}

impl Condition for VolumeError {
    fn code(&self) -> &'static str {
        match self {
            Self::RollbackInUse { .. } => "in-use",
            Self::HasSnapshots { .. } => "has-snapshots",
            Self::SanitizedWithSnapshots { .. } => "sanitized-with-snapshots",
            Self::InvalidSize { .. } => "invalid-size",
            Self::SizeMissing { .. } => "size-missing",
            Self::SourceIsShare { .. } => "source-is-share",
            Self::WouldShrink { .. } => "would-shrink",
            Self::BadReservation { .. } => "invalid-reservation",
            Self::NotThick { .. } => "not-thick",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::RollbackInUse { .. }
            | Self::HasSnapshots { .. }
            | Self::SanitizedWithSnapshots { .. }
            | Self::NotThick { .. } => Class::Conflict,
            Self::InvalidSize { .. }
            | Self::SizeMissing { .. }
            | Self::SourceIsShare { .. }
            | Self::WouldShrink { .. }
            | Self::BadReservation { .. } => Class::Invalid,
        }
    }

    fn users(&self) -> &[User] {
        match self {
            Self::RollbackInUse { users, .. } | Self::HasSnapshots { users, .. } => users,
            _ => &[],
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::RollbackInUse { .. } => {
                "unmount and log out there first, or, if no application uses the volume, force the rollback"
            }
            Self::HasSnapshots { .. } => "delete them with the volume",
            Self::SanitizedWithSnapshots { .. } => {
                "such a volume does not go to the trash: delete it with its snapshots for good, or wait for the end"
            }
            Self::SizeMissing { .. } => "give a size, or a source to clone",
            Self::NotThick { .. } => "make the volume thick",
            Self::SourceIsShare { .. } => "clone it as a share",
            Self::InvalidSize { .. } | Self::WouldShrink { .. } | Self::BadReservation { .. } => return None,
        };
        Some(help.to_owned())
    }

    fn parameters(&self) -> Parameters {
        match self {
            Self::RollbackInUse { name, snapshot, .. } => {
                vec![("volume", name.clone()), ("snapshot", snapshot.clone())]
            }
            Self::HasSnapshots { name, .. }
            | Self::SanitizedWithSnapshots { name, .. }
            | Self::SizeMissing { name }
            | Self::NotThick { name }
            | Self::WouldShrink { name, .. } => vec![("volume", name.clone())],
            Self::SourceIsShare { name } => vec![("source", name.clone())],
            Self::InvalidSize { .. } | Self::BadReservation { .. } => Vec::new(),
        }
    }
}
