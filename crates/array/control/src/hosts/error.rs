//! Conditions of hosts.

use crate::condition::{Class, Condition, Parameters};
use thiserror::Error;

/// Reason why a request for a host was not executed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum HostError {
    /// Invalid initiator name.
    #[error("{name:?} is not an initiator name: {reason}")]
    InvalidInitiatorName {
        /// Rejected text.
        name: String,
        /// Violated rule.
        reason: &'static str,
    },
    /// The initiator name belongs to another host.
    #[error("initiator name {initiator} belongs to host {host}")]
    InitiatorNameTaken {
        /// The name.
        initiator: String,
        /// Owner of the name.
        host: String,
    },
    /// Unusable CHAP credentials.
    #[error("{reason}")]
    InvalidChap {
        /// Violated rule.
        reason: &'static str,
    },
}

impl Condition for HostError {
    fn code(&self) -> &'static str {
        match self {
            Self::InvalidInitiatorName { .. } => "invalid-initiator-name",
            Self::InitiatorNameTaken { .. } => "initiator-name-taken",
            Self::InvalidChap { .. } => "invalid-chap",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::InitiatorNameTaken { .. } => Class::Conflict,
            Self::InvalidInitiatorName { .. } | Self::InvalidChap { .. } => Class::Invalid,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::InitiatorNameTaken { host, .. } => Some(format!("see host {host}")),
            Self::InvalidInitiatorName { .. } | Self::InvalidChap { .. } => None,
        }
    }

    fn parameters(&self) -> Parameters {
        match self {
            Self::InvalidInitiatorName { name, .. } => vec![("initiator", name.clone())],
            Self::InitiatorNameTaken { initiator, host } => {
                vec![("initiator", initiator.clone()), ("host", host.clone())]
            }
            Self::InvalidChap { .. } => Vec::new(),
        }
    }
}
