//! Conditions of jobs.

use crate::condition::{Class, Condition, Parameters};
use thiserror::Error;

/// Reason why a request for a job was not executed, or why a job failed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum JobError {
    /// The job has ended already.
    #[error("job {id} is {state} already")]
    Ended {
        /// The job.
        id: String,
        /// Word of its state.
        state: &'static str,
    },
    /// A sanitize operation cannot be ended by a command.
    #[error(
        "job {id} cannot be {wanted}: a sanitize operation that a host has begun cannot be interrupted (SBC-4 §4.11)"
    )]
    SanitizeGoesOn {
        /// The job.
        id: String,
        /// Requested action.
        wanted: &'static str,
    },
    /// A volume shares everything with itself.
    #[error("volume {volume} has nothing to share with itself at the same place")]
    ReshareWithItself {
        /// The volume.
        volume: String,
    },
    /// Work of the management plane cannot be ended by a command.
    #[error("job {id} cannot be {wanted}: it has begun to change the array, or ends soon")]
    GoesOn {
        /// The job.
        id: String,
        /// Requested action.
        wanted: &'static str,
    },
    /// Work of the management plane failed.
    #[error("{reason}")]
    ManagementFailed {
        /// Reason.
        reason: String,
    },
    /// A sanitize operation failed.
    #[error(
        "sanitizing volume {volume} has failed: {reason}; the volume answers no reads or writes until it is sanitized again"
    )]
    SanitizeFailed {
        /// The volume.
        volume: String,
        /// Reason.
        reason: String,
    },
}

impl Condition for JobError {
    fn code(&self) -> &'static str {
        match self {
            Self::Ended { .. } => "job-ended",
            Self::SanitizeGoesOn { .. } => "sanitize-goes-on",
            Self::ReshareWithItself { .. } => "reshare-with-itself",
            Self::GoesOn { .. } => "job-goes-on",
            Self::ManagementFailed { .. } => "job-failed",
            Self::SanitizeFailed { .. } => "sanitize-failed",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Ended { .. } | Self::SanitizeGoesOn { .. } | Self::GoesOn { .. } | Self::SanitizeFailed { .. } => {
                Class::Conflict
            }
            Self::ReshareWithItself { .. } => Class::Invalid,
            Self::ManagementFailed { .. } => Class::Failed,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Ended { .. } => "list the jobs",
            Self::SanitizeGoesOn { .. } => "wait for its end, or delete the volume",
            Self::ReshareWithItself { .. } => {
                "name another volume or a snapshot, or the distance to a copy in the volume"
            }
            Self::GoesOn { .. } => "wait for its end",
            Self::ManagementFailed { .. } => "see what was done",
            Self::SanitizeFailed { .. } => {
                "let a host send SANITIZE again, or EXIT FAILURE MODE (sg_sanitize --fail), or delete the volume"
            }
        };
        Some(help.to_owned())
    }

    fn parameters(&self) -> Parameters {
        match self {
            Self::Ended { id, .. } | Self::SanitizeGoesOn { id, .. } | Self::GoesOn { id, .. } => {
                vec![("job", id.clone())]
            }
            Self::ManagementFailed { .. } => Vec::new(),
            Self::SanitizeFailed { volume, .. } | Self::ReshareWithItself { volume } => {
                vec![("volume", volume.clone())]
            }
        }
    }
}
