//! Conditions of the trash.

use crate::condition::{Class, Condition, Noun, Parameters};
use jiff::Timestamp;
use text::duration::exact_seconds;
use thiserror::Error;

/// Reason why a request for an object in the trash was not executed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TrashError {
    /// Several objects in the trash have the name.
    #[error("several objects in the trash are named {name}: {candidates}")]
    AmbiguousName {
        /// The name.
        name: String,
        /// Their ids, separated by commas.
        candidates: String,
    },
    /// The volume or share of the snapshot is in the trash, or gone.
    #[error("snapshot {name} cannot be restored without its volume or share")]
    SourceMissing {
        /// Full name of the snapshot.
        name: String,
    },
    /// The lock of the trash keeps it.
    #[error("{noun} {name} in the trash is locked until {until:.0}")]
    Locked {
        /// Kind of the object.
        noun: Noun,
        /// Full name.
        name: String,
        /// End of the lock.
        until: Timestamp,
    },
    /// The lock of the trash would become shorter.
    #[error("the trash is locked for {}, and its lock becomes longer only", exact_seconds(*seconds))]
    LockStays {
        /// Present length of the lock.
        seconds: u32,
    },
    /// While the trash has a lock, what is deleted goes there.
    #[error("{noun} {name} cannot be deleted for good at once: the trash is locked for {}", exact_seconds(*seconds))]
    MustPass {
        /// Kind of the object.
        noun: Noun,
        /// Full name.
        name: String,
        /// Length of the lock.
        seconds: u32,
    },
    /// The document cannot hold the grants of the volume.
    #[error("volume {name} has {grants} grants: the trash remembers at most {most} of a volume")]
    TooManyGrants {
        /// The volume.
        name: String,
        /// Number of its grants.
        grants: usize,
        /// Largest number.
        most: usize,
    },
}

impl Condition for TrashError {
    fn code(&self) -> &'static str {
        match self {
            Self::AmbiguousName { .. } => "ambiguous-name",
            Self::SourceMissing { .. } => "source-missing",
            Self::Locked { .. } | Self::LockStays { .. } => "locked",
            Self::MustPass { .. } => "trash-locked",
            Self::TooManyGrants { .. } => "too-many-grants",
        }
    }

    fn class(&self) -> Class {
        Class::Conflict
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::AmbiguousName { .. } => "name it by its id",
            Self::SourceMissing { .. } => "restore its volume or share first",
            Self::Locked { .. } | Self::LockStays { .. } => "a lock can become longer, and ends by itself",
            Self::MustPass { .. } => "delete it to the trash, which keeps it until its lock ends",
            Self::TooManyGrants { .. } => "revoke access first",
        };
        Some(help.to_owned())
    }

    fn parameters(&self) -> Parameters {
        match self {
            Self::AmbiguousName { name, .. } => vec![("name", name.clone())],
            Self::SourceMissing { name } => vec![("snapshot", name.clone())],
            Self::Locked { noun, name, .. } | Self::MustPass { noun, name, .. } => vec![(noun.name(), name.clone())],
            Self::LockStays { .. } => Vec::new(),
            Self::TooManyGrants { name, .. } => vec![("volume", name.clone())],
        }
    }
}
