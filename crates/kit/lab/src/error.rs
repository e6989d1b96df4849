//! What can go wrong.

use data_mover::DeviceError;
use datastore::DatastoreError;
use initiator::{ProbeError, SessionError};
use thiserror::Error;

/// Why a run, or a case, did not come to its end.
#[derive(Debug, Error)]
pub enum LabError {
    /// No session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// No logical unit.
    #[error(transparent)]
    Unit(#[from] ProbeError),
    /// A command failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A datastore could not do what was asked.
    #[error(transparent)]
    Datastore(#[from] DatastoreError),
    /// The logical unit holds data, and was not named by `--destroy-data`.
    #[error(
        "{url} holds data ({found}), and a run overwrites all of it; if that may be:  --destroy-data {}",
        text::terminal::word(.name)
    )]
    HoldsData {
        /// URL without secrets.
        url: String,
        /// What was found.
        found: String,
        /// What `--destroy-data` wants to hear.
        name: String,
    },
    /// A host that is alive has the datastore mounted that is on the unit.
    #[error("{url} holds the datastore {datastore}, which {host} has mounted")]
    Mounted {
        /// URL without secrets.
        url: String,
        /// Name of the datastore.
        datastore: String,
        /// Name of the host.
        host: String,
    },
    /// `--destroy-data` names something else.
    #[error("--destroy-data {given} names none of the logical units of this run: {units}")]
    WrongName {
        /// What was given.
        given: String,
        /// The names that there are.
        units: String,
    },
    /// There is no such case.
    #[error("there is no case {0}; windlass lab list  shows them")]
    NoSuchCase(String),
    /// A case of logical units, and none was given.
    #[error("{0} needs a logical unit: iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN")]
    NoUnit(&'static str),
    /// `--directory` names none.
    #[error("there is no directory {0}")]
    NoDirectory(String),
    /// The logical unit cannot be used.
    #[error("{0}")]
    Unsuitable(String),
    /// The case cannot run on this logical unit.
    #[error("{0}")]
    Impossible(String),
    /// What a guest read is not what it, or whoever made its disk, had written.
    #[error("{0}")]
    WrongData(String),
    /// The results could not be kept.
    #[error("cannot write {file}: {error}")]
    Save {
        /// The file.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// Results could not be read.
    #[error("cannot read {file}: {reason}")]
    Load {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// The runtime could not be made.
    #[error("cannot start: {0}")]
    Start(#[from] std::io::Error),
}

impl LabError {
    /// True when the array does not answer any more: no other case can run either.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::Session(_) | Self::Unit(ProbeError::Session(_)) => true,
            Self::Device(error) | Self::Datastore(DatastoreError::Device(error)) => error.is_lost(),
            _ => false,
        }
    }
}
