//! Hosts of an export rule, by name.

use super::network::Network;
use std::fmt;

/// Hosts of an export rule: a host, a host group, a network or all hosts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExportGrantee {
    /// A host, by name or id.
    Host(String),
    /// Every member of a host group, by name or id.
    Group(String),
    /// All hosts of a network.
    Network(Network),
    /// All hosts.
    Any,
}

impl ExportGrantee {
    /// One word: the host's name, `group:NAME`, the network, or `any`. Names contain no colon and no
    /// slash.
    pub fn word(&self) -> String {
        match self {
            Self::Host(host) => host.clone(),
            Self::Group(group) => format!("group:{group}"),
            Self::Network(network) => network.to_string(),
            Self::Any => "any".to_owned(),
        }
    }
}

impl fmt::Display for ExportGrantee {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => write!(formatter, "host {host}"),
            Self::Group(group) => write!(formatter, "host group {group}"),
            Self::Network(network) => write!(formatter, "network {network}"),
            Self::Any => formatter.write_str("any host"),
        }
    }
}
