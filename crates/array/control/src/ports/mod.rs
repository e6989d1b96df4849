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

pub(crate) mod error;
mod groups;
pub(crate) mod portals;
pub(crate) mod record;
mod unrecorded;

pub use error::PortError;
pub use groups::{PortGroupList, PortGroupSet, PortGroupShow, PortGroupView};
pub use portals::{PortalList, PortalSet, PortalShow, PortalView};
pub use record::{PortGroupRecord, PortalRecord, RedirectRecord};
pub(crate) use unrecorded::record;

use crate::error::ControlError;
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
    mut records: BTreeMap<u16, PortalRecord>,
    portals: &[PortalOptions],
    created: jiff::Timestamp,
) -> Result<(Vec<u16>, Vec<PortalRecord>), ControlError> {
    let mut identifiers = Vec::with_capacity(portals.len());
    let mut new = Vec::new();
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
        new.push(record.clone());
        records.insert(identifier, record);
        identifiers.push(identifier);
    }
    Ok((identifiers, new))
}

/// Compares addresses without the zone of a link-local one, whose number the operating system may
/// change.
fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    (one.ip(), one.port()) == (other.ip(), other.port())
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
            let assigned = assign(records.clone(), portals, jiff::Timestamp::UNIX_EPOCH);
            let (identifiers, new) = assigned.unwrap_or_default();
            let count = new.len();
            records.extend(new.into_iter().map(|record| (record.identifier, record)));
            (identifiers, count)
        };
        assert_eq!(assign(&[a, b]), (vec![1, 2], 2));
        assert_eq!(assign(&[b]), (vec![2], 0));
        assert_eq!(assign(&[any, any, b]), (vec![3, 4, 2], 2));
        assert_eq!(assign(&[b, a, any]), (vec![2, 1, 3], 0));
    }
}
