//! Conditions of snapshots.

use crate::condition::{Class, Condition, Parameters};
use jiff::Timestamp;
use thiserror::Error;

/// Reason why a request for a snapshot was not executed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SnapshotError {
    /// The name of a snapshot has no volume, and several volumes have a snapshot of that name.
    #[error("several volumes have a snapshot {name}: {candidates}")]
    AmbiguousName {
        /// The name.
        name: String,
        /// Full names, separated by commas.
        candidates: String,
    },
    /// The snapshot is locked.
    #[error("snapshot {name} is locked until {until:.0}")]
    Locked {
        /// Full name.
        name: String,
        /// End of the lock.
        until: Timestamp,
    },
}

impl Condition for SnapshotError {
    fn code(&self) -> &'static str {
        match self {
            Self::AmbiguousName { .. } => "ambiguous-name",
            Self::Locked { .. } => "locked",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::AmbiguousName { .. } | Self::Locked { .. } => Class::Conflict,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::AmbiguousName { .. } => "write VOLUME@SNAPSHOT",
            Self::Locked { .. } => "a lock can become longer, and ends by itself",
        };
        Some(help.to_owned())
    }

    fn parameters(&self) -> Parameters {
        match self {
            Self::AmbiguousName { name, .. } | Self::Locked { name, .. } => vec![("snapshot", name.clone())],
        }
    }
}
