//! Documents of export rules.

use super::network::Network;
use crate::record::Document;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Export rule: access of hosts to a share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportRecord {
    /// The share.
    pub share: Uuid,
    /// Hosts that it is about.
    pub to: ExportTo,
    /// True to refuse every change.
    pub read_only: bool,
    /// Users that become the anonymous one.
    pub squash: Squash,
    /// Anonymous user.
    pub anonymous_uid: u32,
    /// Anonymous group.
    pub anonymous_gid: u32,
    /// True if calls have to come from a port below 1024.
    pub privileged_port: bool,
    /// Time of the grant.
    pub created: Timestamp,
}

impl Document for ExportRecord {
    const PREFIX: &'static str = "export/";
    fn key(&self) -> String {
        let (prefix, share) = (Self::PREFIX, self.share);
        match self.to {
            ExportTo::Host(host) => format!("{prefix}{share}/host/{host}"),
            ExportTo::Group(group) => format!("{prefix}{share}/group/{group}"),
            ExportTo::Network(network) => format!("{prefix}{share}/network/{network}"),
            ExportTo::Any => format!("{prefix}{share}/any"),
        }
    }
}

/// Hosts of an export rule, by id. The order is that in which rules are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExportTo {
    /// A host.
    Host(Uuid),
    /// Every member of a host group.
    Group(Uuid),
    /// All hosts of a network.
    Network(Network),
    /// All hosts.
    Any,
}

/// Users whose identifiers become the anonymous ones; the stricter, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Squash {
    /// No user.
    None,
    /// User 0.
    Root,
    /// All users.
    All,
}

impl Squash {
    /// Word of the setting.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Root => "root",
            Self::All => "all",
        }
    }
}
