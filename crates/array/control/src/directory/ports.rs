//! Ports and target port groups of the directory.

use super::Directory;
use crate::ports::record::{PortGroupRecord, PortalRecord, RedirectRecord};
use crate::ports::{DEFAULT_GROUP, Port};
use std::collections::BTreeMap;

impl Directory {
    /// Relative target port identifiers of the configured portals, in the order of the
    /// configuration; 0 for a portal whose identifier could not be recorded yet.
    pub fn port_identifiers(&self) -> &[u16] {
        &self.configured_ports.identifiers
    }

    /// True if the port is configured at present.
    pub(crate) fn has_port(&self, identifier: u16) -> bool {
        self.identifiers().any(|other| other == identifier)
    }

    /// Relative target port identifiers of the portals that have one.
    pub(crate) fn identifiers(&self) -> impl Iterator<Item = u16> {
        self.configured_ports.identifiers.iter().copied().filter(|identifier| *identifier != 0)
    }

    /// Target ports in the order of the configuration.
    pub fn ports(&self) -> Vec<Port> {
        self.identifiers().map(|identifier| Port { identifier, group: self.group_of(identifier) }).collect()
    }

    /// Groups with portals, and groups with a stored state.
    pub fn port_groups(&self) -> Vec<PortGroupRecord> {
        let mut groups: BTreeMap<u16, PortGroupRecord> =
            self.port_groups.values().map(|record| (record.identifier, record.clone())).collect();
        for port in self.ports() {
            groups.entry(port.group).or_insert_with(|| PortGroupRecord::new(port.group));
        }
        groups.into_values().collect()
    }

    /// Address to which logins through this port are redirected; absent: they are accepted.
    pub fn redirect(&self, identifier: u16) -> Option<&RedirectRecord> {
        self.portals.get(&identifier)?.redirect.as_ref()
    }

    /// Group of a port: set by command, else configured, else the first.
    pub(crate) fn group_of(&self, identifier: u16) -> u16 {
        let record = self.portals.get(&identifier);
        record
            .and_then(|record| record.group)
            .or_else(|| self.configured_ports.groups.get(&identifier).copied())
            .unwrap_or(DEFAULT_GROUP)
    }

    /// State of a group; that of a new one if none is stored.
    pub(crate) fn group(&self, identifier: u16) -> PortGroupRecord {
        self.port_groups.get(&identifier).cloned().unwrap_or_else(|| PortGroupRecord::new(identifier))
    }

    /// Records of the present and former portals, by identifier.
    pub(crate) fn portals(&self) -> impl Iterator<Item = &PortalRecord> {
        self.portals.values()
    }

    /// Record of a portal.
    pub(crate) fn portal_by_id(&self, identifier: u16) -> Option<&PortalRecord> {
        self.portals.get(&identifier)
    }
}
