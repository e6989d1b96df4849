//! Conditions of snapshots.

use crate::condition::{Class, Condition, Parameters};
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
}

impl Condition for SnapshotError {
    fn code(&self) -> &'static str {
        let Self::AmbiguousName { .. } = self;
        "ambiguous-name"
    }

    fn class(&self) -> Class {
        let Self::AmbiguousName { .. } = self;
        Class::Conflict
    }

    fn help(&self) -> Option<String> {
        let Self::AmbiguousName { .. } = self;
        Some("write VOLUME@SNAPSHOT".to_owned())
    }

    fn parameters(&self) -> Parameters {
        let Self::AmbiguousName { name, .. } = self;
        vec![("snapshot", name.clone())]
    }
}
