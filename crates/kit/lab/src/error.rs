//! Errors of the laboratory.

use crate::nas::NasError;
use data_mover::DeviceError;
use datastore::DatastoreError;
use initiator::{ProbeError, SessionError};
use thiserror::Error;

/// Reason why a run, or a case, ended early.
#[derive(Debug, Error)]
pub enum LabError {
    /// The session failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The logical unit was not found or cannot be used.
    #[error(transparent)]
    Unit(#[from] ProbeError),
    /// A command failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An operation on a datastore failed.
    #[error(transparent)]
    Datastore(#[from] DatastoreError),
    /// The logical unit holds data, and was not named by `--destroy-data`.
    #[error(
        "{url} holds data ({found}), and a run overwrites all of it; to allow that, pass  --destroy-data {}",
        text::terminal::word(.name)
    )]
    HoldsData {
        /// URL without secrets.
        url: String,
        /// Data found.
        found: String,
        /// Name to pass to `--destroy-data`.
        name: String,
    },
    /// A living host has the datastore on the unit mounted.
    #[error("{url} holds the datastore {datastore}, which {host} has mounted")]
    Mounted {
        /// URL without secrets.
        url: String,
        /// Name of the datastore.
        datastore: String,
        /// Name of the host.
        host: String,
    },
    /// `--destroy-data` names no logical unit of the run.
    #[error("--destroy-data {given} names none of the logical units of this run: {units}")]
    WrongName {
        /// Name that was given.
        given: String,
        /// Accepted names.
        units: String,
    },
    /// No case has this name.
    #[error("there is no case {0}; windlass lab list  lists the cases")]
    NoSuchCase(String),
    /// A case of logical units was chosen, but none was given.
    #[error("{0} needs a logical unit: iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN")]
    NoUnit(&'static str),
    /// The path given to `--directory` does not exist or is not a directory.
    #[error("there is no directory {0}")]
    NoDirectory(String),
    /// The share cannot be used.
    #[error(transparent)]
    Files(#[from] NasError),
    /// The logical unit cannot be used.
    #[error("{0}")]
    Unsuitable(String),
    /// The case cannot run on this logical unit.
    #[error("{0}")]
    Impossible(String),
    /// A guest read data that differs from what was written.
    #[error("{0}")]
    WrongData(String),
    /// The results could not be written.
    #[error("cannot write {file}: {error}")]
    Save {
        /// Path of the file.
        file: String,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// The results could not be read.
    #[error("cannot read {file}: {reason}")]
    Load {
        /// Path of the file.
        file: String,
        /// Reason.
        reason: String,
    },
    /// The runtime could not be created.
    #[error("cannot start: {0}")]
    Start(#[from] std::io::Error),
}

impl LabError {
    /// Whether the array no longer answers: then no other case can run either.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::Session(_) | Self::Unit(ProbeError::Session(_)) => true,
            Self::Device(error) | Self::Datastore(DatastoreError::Device(error)) => error.is_lost(),
            _ => false,
        }
    }
}
