//! Portals and target port groups: which group a portal belongs to, how well hosts reach the array through each group (asymmetric access,
//! SPC-4 §5.15.2), and where logins are sent elsewhere.
//!
//! Each portal of the configuration is a target port. It gets a relative target port identifier when it is first seen and keeps it, in a
//! document of its own, for as long as the pool lives: persistent reservations and hosts name ports by it, and one that is gone never
//! lends its identifier to another.
//!
//! A change of states is a transition: ports of the groups concerned answer TRANSITION until the change is durable, and then everybody
//! hears of it, or of its failure. No change leaves a host that is logged in without an active path, unless it is forced.

use crate::record::Document;
use crate::{
    AccessState, Change, Control, ControlError, Directory, Noun, PortGroupRecord, PortGroupSet, PortGroupView,
    PortalRecord, PortalSet, PortalView, RedirectRecord, Reply, StateOrigin, User, UserKind,
};
use pool::CatalogChange;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The group of portals of which nothing is said.
pub(crate) const DEFAULT_GROUP: u16 = 1;
/// Longest address that logins are sent to: a domain name (RFC 1035 §2.3.4), a colon and a port.
const MAX_ADDRESS_BYTES: usize = 253 + 6;

/// A portal of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortalOptions {
    /// Where it is told to listen; port 0 is any.
    pub listen: SocketAddr,
    /// Its target port group, as long as no other is set by command.
    pub group: Option<u16>,
}

/// A target port, for the running target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Relative target port identifier.
    pub identifier: u16,
    /// Target port group.
    pub group: u16,
}

/// Asks for states of groups; everything else is as it is.
#[derive(Clone, Debug)]
struct StateChange {
    groups: Vec<PortGroupRecord>,
    origin: StateOrigin,
    force: bool,
}

/// Finds the record of each configured portal and makes those that are missing. The same address several times (port 0) is told apart by its
/// place.
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

/// Compares addresses without the zone of a link-local one, whose number the operating system may change.
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

impl Control {
    pub(crate) fn portal_list(&self) -> Vec<PortalView> {
        let directory = self.directory();
        let identifiers = directory.port_identifiers().to_vec();
        let views = self.live.portals().into_iter().zip(identifiers).map(|(portal, identifier)| {
            let group = directory.group_of(identifier);
            PortalView {
                identifier,
                group,
                state: directory.group(group).state,
                redirect: directory.redirect(identifier).cloned(),
                target: directory.target.clone(),
                portal,
            }
        });
        views.collect()
    }

    pub(crate) fn portal_show(&self, name: &str) -> Result<Reply, ControlError> {
        Ok(Reply::Portal(Box::new(self.portal(name)?)))
    }

    /// A portal by its relative target port identifier, or by the address it listens on or is advertised as.
    fn portal(&self, name: &str) -> Result<PortalView, ControlError> {
        let number = name.parse::<u16>().ok();
        let named = |view: &PortalView| {
            number == Some(view.identifier) || view.portal.listen.to_string() == name || view.portal.advertised == name
        };
        let not_found = || ControlError::NotFound { noun: Noun::Portal, name: name.to_owned() };
        self.portal_list().into_iter().find(named).ok_or_else(not_found)
    }

    /// Whether logins at an address end up at a portal, by the redirections as they are.
    fn leads_to(&self, address: &str, portal: u16) -> bool {
        let portals = self.portal_list();
        let mut address = address.to_owned();
        // Longer chains are circles of others.
        for _ in 0..=portals.len() {
            let is_there =
                |view: &&PortalView| view.portal.advertised == address || view.portal.listen.to_string() == address;
            let Some(view) = portals.iter().find(is_there) else { return false };
            if view.identifier == portal {
                return true;
            }
            match &view.redirect {
                Some(next) => address.clone_from(&next.address),
                None => return false,
            }
        }
        false
    }

    /// Changes group or redirection of a portal.
    ///
    /// Errors: `LastPath` when its new group is not active and hosts have no other path; `InvalidSetting` for an address that is none or its
    /// own.
    pub(crate) async fn portal_set(&self, set: PortalSet) -> Result<Reply, ControlError> {
        let _changes = self.lock_changes().await;
        let view = self.portal(&set.portal)?;
        let known = self.directory().portals.get(&view.identifier).cloned();
        let not_found = || ControlError::NotFound { noun: Noun::Portal, name: set.portal.clone() };
        let mut record = known.ok_or_else(not_found)?;
        if let Some(group) = set.group {
            check_group(group)?;
            if !set.force {
                let after = |port: u16| {
                    let directory = self.directory();
                    let group = if port == view.identifier { group } else { directory.group_of(port) };
                    directory.group(group).state
                };
                self.check_paths(&after, &format!("portal {} --group {group}", set.portal))?;
            }
            record.group = Some(group);
        }
        match set.redirect {
            Some(Some(redirect)) => {
                check_address(&redirect.address)?;
                if self.leads_to(&redirect.address, view.identifier) {
                    let message =
                        format!("portal {} cannot send logins to itself, nor to one that sends them back", set.portal);
                    return Err(ControlError::InvalidSetting(message));
                }
                record.redirect = Some(redirect);
            }
            Some(None) => record.redirect = None,
            None => {}
        }
        let put = record.put()?;
        let apply = |directory: &mut Directory| {
            directory.portals.insert(record.identifier, record);
        };
        self.commit(vec![put], apply, &[Change::PortGroupsChanged]).await?;
        self.portal_show(&set.portal)
    }

    pub(crate) fn port_group_list(&self) -> Vec<PortGroupView> {
        let portals = self.portal_list();
        let sessions = self.live.sessions();
        let directory = self.directory();
        let views = directory.port_groups().into_iter().map(|record| {
            let members = || portals.iter().filter(|portal| portal.group == record.identifier);
            let through = |port: u16| members().any(|portal| portal.identifier == port);
            PortGroupView {
                portals: members().map(|portal| portal.portal.listen.to_string()).collect(),
                sessions: sessions.iter().filter(|session| through(session.target_port)).count() as u64,
                record,
            }
        });
        views.collect()
    }

    pub(crate) fn port_group_show(&self, group: u16) -> Result<Reply, ControlError> {
        let found = self.port_group_list().into_iter().find(|view| view.record.identifier == group);
        let view = found.ok_or_else(|| ControlError::NotFound { noun: Noun::PortGroup, name: group.to_string() })?;
        Ok(Reply::PortGroup(Box::new(view)))
    }

    /// Changes state or preference of a group.
    ///
    /// Errors: `NotFound` for a group without portals; `LastPath` when hosts would have no active path left, unless forced; the pool's
    /// errors, after which everything is as before.
    pub(crate) async fn port_group_set(&self, set: PortGroupSet) -> Result<Reply, ControlError> {
        let _changes = self.lock_changes().await;
        let not_found = || ControlError::NotFound { noun: Noun::PortGroup, name: set.group.to_string() };
        let known = self.directory().port_groups().into_iter().find(|record| record.identifier == set.group);
        let mut record = known.ok_or_else(not_found)?;
        record.preferred = set.preferred.unwrap_or(record.preferred);
        record.state = set.state.unwrap_or(record.state);
        let change = StateChange { groups: vec![record], origin: StateOrigin::Implicit, force: set.force };
        self.change_states(change).await?;
        self.port_group_show(set.group)
    }

    /// Changes states because an initiator asks for it (SET TARGET PORT GROUPS). Durable and published on return.
    ///
    /// Errors: as those of `PortGroupSet`, which see; nothing was changed then.
    pub async fn set_port_group_states(&self, states: Vec<(u16, AccessState)>) -> Result<(), ControlError> {
        let _changes = self.lock_changes().await;
        let groups =
            states.into_iter().map(|(group, state)| PortGroupRecord { state, ..self.directory().group(group) });
        let change = StateChange { groups: groups.collect(), origin: StateOrigin::Explicit, force: false };
        self.change_states(change).await
    }

    async fn change_states(&self, change: StateChange) -> Result<(), ControlError> {
        let StateChange { mut groups, origin, force } = change;
        groups.retain(|record| self.directory().group(record.identifier) != *record);
        if groups.is_empty() {
            return Ok(());
        }
        let mut transition = Vec::new();
        for record in &mut groups {
            if self.directory().group(record.identifier).state != record.state {
                record.origin = origin;
                transition.push(record.identifier);
            }
        }
        if !force && !transition.is_empty() {
            let after = |port: u16| {
                let directory = self.directory();
                let group = directory.group_of(port);
                let changed = groups.iter().find(|record| record.identifier == group);
                changed.map_or_else(|| directory.group(group).state, |record| record.state)
            };
            let asked = groups.first().map(|record| format!("{} --state {}", record.identifier, record.state.name()));
            self.check_paths(&after, &format!("portal-group {}", asked.unwrap_or_default()))?;
        }
        let puts = groups.iter().map(Document::put).collect::<Result<Vec<_>, _>>()?;
        if !transition.is_empty() {
            let begins = Change::PortGroupTransitionBegins { groups: transition.clone() };
            self.live.publish(&begins, &self.directory());
        }
        let apply = |directory: &mut Directory| {
            for record in groups {
                directory.port_groups.insert(record.identifier, record);
            }
        };
        let done = self.commit(puts, apply, &[Change::PortGroupsChanged]).await;
        if done.is_err() && !transition.is_empty() {
            self.live.publish(&Change::PortGroupTransitionFailed, &self.directory());
        }
        done
    }

    /// Refuses what would leave no port active, or a host that has an active path without one. `after` is the state that each port is
    /// going to have; `asked` goes into the words of help.
    fn check_paths(&self, after: &dyn Fn(u16) -> AccessState, asked: &str) -> Result<(), ControlError> {
        let active_now = |port: u16| {
            let directory = self.directory();
            directory.group(directory.group_of(port)).state.is_active()
        };
        let ports = self.directory().port_identifiers().to_vec();
        let refuse = |users| Err(ControlError::LastPath { asked: asked.to_owned(), users });
        let any = |active: &dyn Fn(u16) -> bool| ports.iter().any(|port| active(*port));
        let active_after = |port: u16| after(port).is_active();
        if any(&active_now) && !any(&active_after) {
            return refuse(Vec::new());
        }
        let sessions = self.live.sessions();
        let host = |initiator: &str| {
            self.directory().host_of(initiator).map_or_else(|| initiator.to_owned(), |host| host.name.clone())
        };
        let mut paths: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for session in &sessions {
            let (now, then) = paths.entry(host(&session.initiator)).or_default();
            *now += u32::from(active_now(session.target_port));
            *then += u32::from(active_after(session.target_port));
        }
        let stranded = paths.into_iter().filter(|(_, (now, then))| *now > 0 && *then == 0);
        let users: Vec<User> = stranded
            .map(|(host, (now, _))| User {
                kind: UserKind::Session,
                description: format!(
                    "{host}: {now} active {}, none of them afterwards",
                    if now == 1 { "path" } else { "paths" }
                ),
            })
            .collect();
        if users.is_empty() { Ok(()) } else { refuse(users) }
    }
}

fn check_group(group: u16) -> Result<(), ControlError> {
    if group > 0 {
        return Ok(());
    }
    Err(ControlError::InvalidSetting("target port groups are numbered from 1 to 65535".to_owned()))
}

/// Checks `HOST:PORT`: an IPv4 address, an IPv6 address in brackets without a zone, or a domain name (RFC 7143 §13.8).
fn check_address(address: &str) -> Result<(), ControlError> {
    let wrong = || {
        Err(ControlError::InvalidSetting(format!(
            "{address:?} is no address for hosts: ADDRESS:PORT, [IPV6]:PORT or NAME:PORT is"
        )))
    };
    if address.len() > MAX_ADDRESS_BYTES {
        return wrong();
    }
    if let Ok(socket) = address.parse::<SocketAddr>() {
        let scoped = matches!(socket, SocketAddr::V6(v6) if v6.scope_id() != 0);
        return if scoped || socket.ip().is_unspecified() || socket.port() == 0 { wrong() } else { Ok(()) };
    }
    let Some((name, port)) = address.rsplit_once(':') else { return wrong() };
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // What looks like an IPv4 address is one or nothing.
    let numeric = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if numeric || !name.split('.').all(label) || !port.parse::<u16>().is_ok_and(|port| port > 0) {
        return wrong();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_for_hosts() {
        for good in ["192.0.2.1:3260", "[2001:db8::1]:3260", "array-b.example.org:860", "array:3260"] {
            assert_eq!(check_address(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "192.0.2.1",
            "0.0.0.0:3260",
            "192.0.2.1:0",
            "[fe80::1%2]:3260",
            "192.0.2.300:1",
            "a..b:1",
            "-a:1",
            "a b:1",
            "a:70000",
        ] {
            assert!(check_address(bad).is_err(), "{bad}");
        }
    }

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
