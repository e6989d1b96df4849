//! Portals and target port groups: assignment of portals to groups, the access state of each group
//! (asymmetric access, SPC-4 §5.15.2), and redirection of logins.
//!
//! Each configured portal is a target port. It gets a relative target port identifier when it is
//! first seen and keeps it, in its own document, for the life of the pool: persistent reservations
//! and hosts identify ports by it, and the identifier of a removed port is never reused. If a full
//! pool has no space for the document of a new portal, the portal takes no logins until it has: its
//! identifier could be assigned to another portal at the next start.
//!
//! A change of states is a transition: ports of the groups concerned answer TRANSITION until the
//! change is durable; then all hosts concerned are notified of it, or of its failure. No change
//! leaves a logged-in host without an active path, unless it is forced.

mod groups;
mod portals;

pub(crate) mod record;

pub use groups::{PortGroupList, PortGroupSet, PortGroupShow, PortGroupView};
pub use portals::{PortalList, PortalSet, PortalShow, PortalView};

use crate::record::Document;
use crate::{ControlError, Directory, PortGroupRecord, PortalRecord, RedirectRecord};
use pool::CatalogChange;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Group of portals without a configured group.
pub(crate) const DEFAULT_GROUP: u16 = 1;

/// Configured portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortalOptions {
    /// Configured listening address; port 0 is any.
    pub listen: SocketAddr,
    /// Target port group, unless a command has set another one.
    pub group: Option<u16>,
}

/// Target port for the running target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Relative target port identifier.
    pub identifier: u16,
    /// Target port group.
    pub group: u16,
}

/// Finds the record of each configured portal and creates missing ones. Returns the identifiers in
/// the order of the configuration, and the new records. Portals with the same address (port 0) are
/// distinguished by their place.
pub(crate) fn assign(
    records: &mut BTreeMap<u16, PortalRecord>,
    portals: &[PortalOptions],
    created: jiff::Timestamp,
) -> Result<(Vec<u16>, Vec<CatalogChange>), ControlError> {
    let mut identifiers = Vec::with_capacity(portals.len());
    let mut changes = Vec::new();
    for (at, portal) in portals.iter().enumerate() {
        let before = portals.iter().take(at).filter(|other| is_same(other.listen, portal.listen)).count();
        let place = u16::try_from(before).unwrap_or(u16::MAX);
        let known = records.values().find(|record| is_same(record.listen, portal.listen) && record.place == place);
        if let Some(known) = known {
            identifiers.push(known.identifier);
            continue;
        }
        let last = records.last_key_value().map_or(0, |(identifier, _)| *identifier);
        let identifier = last.checked_add(1).ok_or_else(|| ControlError::Damaged {
            reason: "65535 portals have had a relative target port identifier, and there are no more".to_owned(),
        })?;
        let record = PortalRecord { identifier, listen: portal.listen, place, group: None, redirect: None, created };
        changes.push(record.put()?);
        records.insert(identifier, record);
        identifiers.push(identifier);
    }
    Ok((identifiers, changes))
}

/// Compares addresses without the zone of a link-local one, whose number the operating system may
/// change.
fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    (one.ip(), one.port()) == (other.ip(), other.port())
}

impl Directory {
    /// Relative target port identifiers of the configured portals, in the order of the configuration.
    pub fn port_identifiers(&self) -> &[u16] {
        &self.port_identifiers
    }

    /// There is such a port at present.
    pub(crate) fn has_port(&self, identifier: u16) -> bool {
        self.port_identifiers.contains(&identifier)
    }

    /// The target ports, in the order of the configuration.
    pub fn ports(&self) -> Vec<Port> {
        self.port_identifiers.iter().map(|&identifier| Port { identifier, group: self.group_of(identifier) }).collect()
    }

    /// The groups that portals are in, and those that were given a state.
    pub fn port_groups(&self) -> Vec<PortGroupRecord> {
        let mut groups = self.port_groups.clone();
        for port in self.ports() {
            groups.entry(port.group).or_insert_with(|| PortGroupRecord::new(port.group));
        }
        groups.into_values().collect()
    }

    /// Where logins through this port are sent; absent: they are taken.
    pub fn redirect(&self, identifier: u16) -> Option<&RedirectRecord> {
        self.portals.get(&identifier)?.redirect.as_ref()
    }

    /// The group of a port: as set by command, else as configured, else the first.
    pub(crate) fn group_of(&self, identifier: u16) -> u16 {
        let record = self.portals.get(&identifier);
        record
            .and_then(|record| record.group)
            .or_else(|| self.configured_groups.get(&identifier).copied())
            .unwrap_or(DEFAULT_GROUP)
    }

    fn group(&self, identifier: u16) -> PortGroupRecord {
        self.port_groups.get(&identifier).cloned().unwrap_or_else(|| PortGroupRecord::new(identifier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_never_given_out_again() {
        let listen =
            |text: &str| PortalOptions { listen: text.parse().unwrap_or(([0, 0, 0, 0], 1).into()), group: None };
        let (a, b, any) = (listen("192.0.2.1:3260"), listen("192.0.2.2:3260"), listen("127.0.0.1:0"));
        let mut records = BTreeMap::new();
        let mut assign = |portals: &[PortalOptions]| {
            let (identifiers, changes) = assign(&mut records, portals, jiff::Timestamp::UNIX_EPOCH).unwrap_or_default();
            (identifiers, changes.len())
        };
        assert_eq!(assign(&[a, b]), (vec![1, 2], 2));
        assert_eq!(assign(&[b]), (vec![2], 0));
        assert_eq!(assign(&[any, any, b]), (vec![3, 4, 2], 2));
        assert_eq!(assign(&[b, a, any]), (vec![2, 1, 3], 0));
    }
}
