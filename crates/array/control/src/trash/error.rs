//! Conditions of the trash.

use crate::condition::{Class, Condition, Parameters};
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
            Self::TooManyGrants { .. } => "revoke access first",
        };
        Some(help.to_owned())
    }

    fn parameters(&self) -> Parameters {
        match self {
            Self::AmbiguousName { name, .. } => vec![("name", name.clone())],
            Self::SourceMissing { name } => vec![("snapshot", name.clone())],
            Self::TooManyGrants { name, .. } => vec![("volume", name.clone())],
        }
    }
}
