//! Conditions of hosts.

use crate::condition::{Class, Condition, Parameters};
use std::net::IpAddr;
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
    /// The host would have neither an initiator name nor an address.
    #[error("host {host} needs an initiator name or an address")]
    Unidentified {
        /// The host.
        host: String,
    },
    /// A share is granted to a host that the array would not recognise.
    #[error("host {host} has no address, from which it could use a share")]
    NoAddress {
        /// The host.
        host: String,
    },
    /// No host can have the address.
    #[error("{address} cannot be the address of a host: {reason}")]
    InvalidAddress {
        /// Rejected address.
        address: IpAddr,
        /// Violated rule.
        reason: &'static str,
    },
    /// The address belongs to another host.
    #[error("address {address} belongs to host {host}")]
    AddressTaken {
        /// The address.
        address: IpAddr,
        /// Owner of the address.
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
            Self::Unidentified { .. } => "host-unidentified",
            Self::NoAddress { .. } => "host-without-address",
            Self::InvalidAddress { .. } => "invalid-address",
            Self::AddressTaken { .. } => "address-taken",
            Self::InvalidChap { .. } => "invalid-chap",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::InitiatorNameTaken { .. } | Self::NoAddress { .. } | Self::AddressTaken { .. } => Class::Conflict,
            Self::InvalidInitiatorName { .. }
            | Self::Unidentified { .. }
            | Self::InvalidAddress { .. }
            | Self::InvalidChap { .. } => Class::Invalid,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::InitiatorNameTaken { host, .. } | Self::AddressTaken { host, .. } => Some(format!("see host {host}")),
            Self::NoAddress { .. } => Some("give the host its address".to_owned()),
            Self::InvalidInitiatorName { .. }
            | Self::Unidentified { .. }
            | Self::InvalidAddress { .. }
            | Self::InvalidChap { .. } => None,
        }
    }

    fn parameters(&self) -> Parameters {
        match self {
            Self::InvalidInitiatorName { name, .. } => vec![("initiator", name.clone())],
            Self::InitiatorNameTaken { initiator, host } => {
                vec![("initiator", initiator.clone()), ("host", host.clone())]
            }
            Self::Unidentified { host } | Self::NoAddress { host } => vec![("host", host.clone())],
            Self::InvalidAddress { address, .. } => vec![("address", address.to_string())],
            Self::AddressTaken { address, host } => {
                vec![("address", address.to_string()), ("host", host.clone())]
            }
            Self::InvalidChap { .. } => Vec::new(),
        }
    }
}
