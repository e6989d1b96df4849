//! Target port groups: list, show, and their states.

use crate::condition::{Noun, User, UserKind};
use crate::control::Control;
use crate::error::ControlError;
use crate::events::Draft;
use crate::facts::Facts;
use crate::live::Change;
use crate::ports::error::PortError;
use crate::ports::record::PortGroupRecord;
use crate::read::Read;
use crate::record::Document;
use crate::request::Request;
use std::collections::BTreeMap;
use unit::{AccessState, StateOrigin};

/// Change of the states of groups; others stay.
#[derive(Clone, Debug)]
struct StateChange {
    groups: Vec<PortGroupRecord>,
    origin: StateOrigin,
    force: bool,
}

/// Lists target port groups.
#[derive(Clone, Debug)]
pub struct PortGroupList;

/// Shows one target port group.
#[derive(Clone, Debug)]
pub struct PortGroupShow {
    /// Number of the group.
    pub group: u16,
}

/// Changes a target port group; absent fields keep their values.
#[derive(Clone, Debug, Default)]
pub struct PortGroupSet {
    /// Number of the group.
    pub group: u16,
    /// New state.
    pub state: Option<AccessState>,
    /// True if hosts should prefer it to others in the same state.
    pub preferred: Option<bool>,
    /// True to proceed even if hosts lose their last active path.
    pub force: bool,
}

/// Target port group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortGroupView {
    /// Document of the group.
    pub record: PortGroupRecord,
    /// Listening addresses of its portals.
    pub portals: Vec<String>,
    /// Number of sessions through them.
    pub sessions: u64,
}

impl Read for PortGroupList {
    type Reply = Vec<PortGroupView>;
    const NAME: &'static str = "port-group-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<PortGroupView>, ControlError> {
        Ok(facts.port_group_list())
    }
}

impl Read for PortGroupShow {
    type Reply = PortGroupView;
    const NAME: &'static str = "port-group-show";

    fn answer(&self, facts: &dyn Facts) -> Result<PortGroupView, ControlError> {
        facts.port_group(self.group)
    }
}

impl Request for PortGroupSet {
    type Reply = PortGroupView;
    const NAME: &'static str = "port-group-set";

    /// Errors: `NotFound` for a group without portals; `LastPath` if hosts would have no active
    /// path left, unless forced; the pool's errors, after which the states are unchanged.
    async fn run(&self, control: &Control) -> Result<PortGroupView, ControlError> {
        let _changes = control.lock_changes().await;
        let not_found = || ControlError::NotFound { noun: Noun::PortGroup, name: self.group.to_string() };
        let known = control.directory().port_groups().into_iter().find(|record| record.identifier == self.group);
        let mut record = known.ok_or_else(not_found)?;
        record.preferred = self.preferred.unwrap_or(record.preferred);
        record.state = self.state.unwrap_or(record.state);
        let change = StateChange { groups: vec![record], origin: StateOrigin::Implicit, force: self.force };
        control.change_states(change).await?;
        control.see(|facts| facts.port_group(self.group))
    }

    fn event(&self, _view: &PortGroupView) -> Option<Draft> {
        let mut changes = Vec::new();
        changes.extend(self.state.map(|state| format!("state {}", state.name())));
        changes.extend(self.preferred.map(|on| if on { "preferred" } else { "not preferred" }.to_owned()));
        let message = format!("target port group {} changed: {}", self.group, changes.join(", "));
        Some(Draft::info("port-group-changed", self.group.to_string(), message))
    }
}

impl dyn Facts + '_ {
    fn port_group_list(&self) -> Vec<PortGroupView> {
        let portals = self.portal_list();
        let sessions = self.sessions();
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

    fn port_group(&self, group: u16) -> Result<PortGroupView, ControlError> {
        let found = self.port_group_list().into_iter().find(|view| view.record.identifier == group);
        found.ok_or_else(|| ControlError::NotFound { noun: Noun::PortGroup, name: group.to_string() })
    }
}

impl Control {
    /// Changes states at the request of an initiator (SET TARGET PORT GROUPS). Durable and
    /// published on return.
    ///
    /// Errors: those of `PortGroupSet`; the states are then unchanged.
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
            self.check_paths(&after, |users| {
                let (name, state) = groups
                    .first()
                    .map(|record| (record.identifier.to_string(), record.state.name().to_owned()))
                    .unwrap_or_default();
                PortError::LastPath { noun: Noun::PortGroup, name, setting: ("state", state), users }.into()
            })?;
        }
        let puts = groups.iter().map(Document::put).collect::<Result<Vec<_>, _>>()?;
        if !transition.is_empty() {
            let begins = Change::PortGroupTransitionBegins { groups: transition.clone() };
            self.live().publish(&begins, &self.directory());
        }
        let edits = groups.into_iter().map(PortGroupRecord::into).collect();
        let done = self.commit(puts, edits, &[Change::PortGroupsChanged]).await;
        if done.is_err() && !transition.is_empty() {
            self.live().publish(&Change::PortGroupTransitionFailed, &self.directory());
        }
        done
    }

    /// Refuses a change that would leave no port active, or a host with an active path without one.
    /// `after` is the new state of each port; `refusal` is the error for these hosts.
    pub(super) fn check_paths(
        &self,
        after: &dyn Fn(u16) -> AccessState,
        refusal: impl FnOnce(Vec<User>) -> ControlError,
    ) -> Result<(), ControlError> {
        let active_now = |port: u16| {
            let directory = self.directory();
            directory.group(directory.group_of(port)).state.is_active()
        };
        let ports: Vec<u16> = self.directory().identifiers().collect();
        let any = |active: &dyn Fn(u16) -> bool| ports.iter().any(|port| active(*port));
        let active_after = |port: u16| after(port).is_active();
        if any(&active_now) && !any(&active_after) {
            return Err(refusal(Vec::new()));
        }
        let sessions = self.live().sessions();
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
        if users.is_empty() { Ok(()) } else { Err(refusal(users)) }
    }
}

pub(super) fn check_group(group: u16) -> Result<(), ControlError> {
    if group > 0 {
        return Ok(());
    }
    Err(ControlError::InvalidSetting("target port groups are numbered from 1 to 65535".to_owned()))
}
