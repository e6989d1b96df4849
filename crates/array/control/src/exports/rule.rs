//! Export rules as the NFS server applies them: hosts and groups are their addresses.

use super::record::{ExportRecord, ExportTo, Squash};
use crate::directory::Directory;
use std::net::IpAddr;
use uuid::Uuid;

/// Hosts of a rule, by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportHosts {
    /// One host, by its addresses. A host without addresses cannot use the share.
    Host(Vec<IpAddr>),
    /// Group of hosts, by the addresses of all of them.
    Group(Vec<IpAddr>),
    /// All hosts of a network.
    Network {
        /// First address.
        address: IpAddr,
        /// Length of the prefix in bits.
        prefix_bits: u8,
    },
    /// All hosts.
    Any,
}

/// Export rule with addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportRule {
    /// Hosts that it is about.
    pub hosts: ExportHosts,
    /// True to refuse every change.
    pub read_only: bool,
    /// Users that become the anonymous one.
    pub squash: Squash,
    /// Anonymous user and group.
    pub anonymous: (u32, u32),
    /// True if calls have to come from a port below 1024.
    pub privileged_port: bool,
}

impl Directory {
    /// Export rules of a share, with the present addresses of hosts and groups. Without any, no host
    /// may use it.
    pub fn exports_of(&self, share: Uuid) -> Vec<ExportRule> {
        self.exports_by_share(share).map(|export| self.rule(export)).collect()
    }

    /// A rule with the present addresses of its hosts.
    pub(super) fn rule(&self, export: &ExportRecord) -> ExportRule {
        let addresses = |host| self.host_by_id(host).into_iter().flat_map(|host| host.addresses.iter().copied());
        let hosts = match export.to {
            ExportTo::Host(host) => ExportHosts::Host(addresses(host).collect()),
            ExportTo::Group(group) => ExportHosts::Group(self.members(group).flat_map(addresses).collect()),
            ExportTo::Network(network) => {
                ExportHosts::Network { address: network.address(), prefix_bits: network.prefix_bits() }
            }
            ExportTo::Any => ExportHosts::Any,
        };
        ExportRule {
            hosts,
            read_only: export.read_only,
            squash: export.squash,
            anonymous: (export.anonymous_uid, export.anonymous_gid),
            privileged_port: export.privileged_port,
        }
    }
}
