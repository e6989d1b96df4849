//! Portals: list, show, and redirection of their logins.

use super::groups::check_group;
use crate::condition::Noun;
use crate::control::Control;
use crate::error::ControlError;
use crate::events::Draft;
use crate::facts::Facts;
use crate::live::{Change, Portal};
use crate::ports::error::PortError;
use crate::ports::record::RedirectRecord;
use crate::read::Read;
use crate::record::Document;
use crate::request::Request;
use std::net::SocketAddr;
use unit::AccessState;

/// Longest redirection address: a domain name (RFC 1035 §2.3.4), a colon and a port.
const MAX_ADDRESS_BYTES: usize = 253 + 6;

/// Lists network portals.
#[derive(Clone, Debug)]
pub struct PortalList;

/// Shows one portal.
#[derive(Clone, Debug)]
pub struct PortalShow {
    /// Relative target port identifier or listening address.
    pub portal: String,
}

/// Changes a portal; absent fields keep their values.
#[derive(Clone, Debug, Default)]
pub struct PortalSet {
    /// As in `PortalShow`.
    pub portal: String,
    /// Target port group, from 1.
    pub group: Option<u16>,
    /// `Some(None)`: logins are accepted again.
    pub redirect: Option<Option<RedirectRecord>>,
    /// True to proceed even if hosts lose their last active path.
    pub force: bool,
}

/// Portal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalView {
    /// Relative target port identifier.
    pub identifier: u16,
    /// Listening and advertised address.
    pub portal: Portal,
    /// Target port group.
    pub group: u16,
    /// State of the group.
    pub state: AccessState,
    /// Redirection of logins.
    pub redirect: Option<RedirectRecord>,
    /// Name of the target.
    pub target: String,
}

impl Read for PortalList {
    type Reply = Vec<PortalView>;
    const NAME: &'static str = "portal-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<PortalView>, ControlError> {
        Ok(facts.portal_list())
    }
}

impl Read for PortalShow {
    type Reply = PortalView;
    const NAME: &'static str = "portal-show";

    fn answer(&self, facts: &dyn Facts) -> Result<PortalView, ControlError> {
        facts.portal(&self.portal)
    }
}

impl Request for PortalSet {
    type Reply = PortalView;
    const NAME: &'static str = "portal-set";

    /// Errors: `LastPath` if its new group is not active and hosts have no other path;
    /// `InvalidSetting` if the address is invalid or the portal's own.
    async fn run(&self, control: &Control) -> Result<PortalView, ControlError> {
        let _changes = control.lock_changes().await;
        let view = control.see(|facts| facts.portal(&self.portal))?;
        let known = control.directory().portal_by_id(view.identifier).cloned();
        let not_found = || ControlError::NotFound { noun: Noun::Portal, name: self.portal.clone() };
        let mut record = known.ok_or_else(not_found)?;
        if let Some(group) = self.group {
            check_group(group)?;
            if !self.force {
                let after = |port: u16| {
                    let directory = control.directory();
                    let group = if port == view.identifier { group } else { directory.group_of(port) };
                    directory.group(group).state
                };
                control.check_paths(&after, |users| {
                    let (name, setting) = (self.portal.clone(), ("group", group.to_string()));
                    PortError::LastPath { noun: Noun::Portal, name, setting, users }.into()
                })?;
            }
            record.group = Some(group);
        }
        match self.redirect.clone() {
            Some(Some(redirect)) => {
                check_address(&redirect.address)?;
                if control.see(|facts| facts.leads_to(&redirect.address, view.identifier)) {
                    let message =
                        format!("portal {} cannot send logins to itself, nor to one that sends them back", self.portal);
                    return Err(ControlError::InvalidSetting(message));
                }
                record.redirect = Some(redirect);
            }
            Some(None) => record.redirect = None,
            None => {}
        }
        let put = record.put()?;
        control.commit(vec![put], vec![record.into()], &[Change::PortGroupsChanged]).await?;
        control.see(|facts| facts.portal(&self.portal))
    }

    fn event(&self, _view: &PortalView) -> Option<Draft> {
        let mut changes = Vec::new();
        changes.extend(self.group.map(|group| format!("target port group {group}")));
        changes.extend(self.redirect.as_ref().map(|redirect| match redirect {
            Some(redirect) => format!("logins redirected to {}", redirect.address),
            None => "logins accepted".to_owned(),
        }));
        let message = format!("portal {} changed: {}", self.portal, changes.join(", "));
        Some(Draft::info("portal-changed", &self.portal, message))
    }
}

impl dyn Facts + '_ {
    pub(crate) fn portal_list(&self) -> Vec<PortalView> {
        let directory = self.directory();
        let recorded = self.portals().iter().zip(directory.port_identifiers());
        let views = recorded.filter(|(_, identifier)| **identifier != 0).map(|(portal, &identifier)| {
            let group = directory.group_of(identifier);
            PortalView {
                identifier,
                group,
                state: directory.group(group).state,
                redirect: directory.redirect(identifier).cloned(),
                target: directory.target().to_owned(),
                portal: portal.clone(),
            }
        });
        views.collect()
    }

    /// Finds a portal by its relative target port identifier, or by its listening or advertised
    /// address.
    fn portal(&self, name: &str) -> Result<PortalView, ControlError> {
        let number = name.parse::<u16>().ok();
        let named = |view: &PortalView| {
            number == Some(view.identifier) || view.portal.listen.to_string() == name || view.portal.advertised == name
        };
        let not_found = || ControlError::NotFound { noun: Noun::Portal, name: name.to_owned() };
        self.portal_list().into_iter().find(named).ok_or_else(not_found)
    }

    /// True if present redirections lead logins at an address to a portal.
    fn leads_to(&self, address: &str, portal: u16) -> bool {
        let portals = self.portal_list();
        let mut address = address.to_owned();
        // Longer chains are cycles without this portal.
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
}

/// Checks `HOST:PORT`: an IPv4 address, an IPv6 address in brackets without a zone, or a domain
/// name (RFC 7143 §13.8).
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
    // Names of digits and dots are valid only as IPv4 addresses.
    let numeric = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if numeric || !name.split('.').all(label) || !port.parse::<u16>().is_ok_and(|port| port > 0) {
        return wrong();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_address;

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
}
