//! Asymmetric logical unit access (SPC-4 §5.15.2): target ports in groups, each group in one access
//! state for all logical units.
//!
//! The owner of the target sets the whole list of ports and groups with
//! [`ScsiTarget::set_port_groups`]; this file raises the unit attentions of a change. An access
//! state limits only the commands that a port accepts: the copy manager and the logical units do
//! not know it.

use super::ScsiTarget;
use crate::command::{Command, Exists};
use crate::nexus::Nexus;
use crate::nexus_id::NexusId;
use crate::sense::Fault;
use block::{BlockDevice, VolumeId};
use scsi::AdditionalSense;
use scsi::target_port_groups::{self, access_state, status_code};
use std::cell::RefCell;
use std::collections::BTreeMap;
use unit::{AccessState, AccessStateError, FairLockGuard, StateOrigin};

/// Target port, reached through a target portal group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetPort {
    /// Relative target port identifier, from 1. It must not change: registrations and hosts name
    /// the port by it.
    pub relative_identifier: u16,
    /// Target portal group tag, part of the port's SCSI name.
    pub portal_group_tag: u16,
    /// Identifier of the port's target port group.
    pub group: u16,
}

/// A target port group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetPortGroup {
    /// Identifier, from 1.
    pub identifier: u16,
    /// Access state.
    pub state: AccessState,
    /// Hosts should prefer this group to others in the same state.
    pub preferred: bool,
    /// Cause of the state.
    pub origin: StateOrigin,
}

impl TargetPortGroup {
    /// Group in state active/optimized.
    pub const fn new(identifier: u16) -> Self {
        Self { identifier, state: AccessState::ActiveOptimized, preferred: false, origin: StateOrigin::None }
    }
}

/// A target port group with its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortGroup {
    pub identifier: u16,
    pub state: AccessState,
    pub preferred: bool,
    pub origin: StateOrigin,
    /// Relative target port identifiers.
    pub ports: Vec<u16>,
}

impl PortGroup {
    /// Group in the format of REPORT TARGET PORT GROUPS.
    pub fn reported(&self) -> target_port_groups::PortGroup {
        target_port_groups::PortGroup {
            identifier: self.identifier,
            state: match self.state {
                AccessState::ActiveOptimized => access_state::ACTIVE_OPTIMIZED,
                AccessState::ActiveNonOptimized => access_state::ACTIVE_NON_OPTIMIZED,
                AccessState::Standby => access_state::STANDBY,
                AccessState::Unavailable => access_state::UNAVAILABLE,
                AccessState::Transitioning => access_state::TRANSITIONING,
            },
            preferred: self.preferred,
            status: match self.origin {
                StateOrigin::None => status_code::NONE,
                StateOrigin::Explicit => status_code::EXPLICIT,
                StateOrigin::Implicit => status_code::IMPLICIT,
            },
            ports: self.ports.clone(),
        }
    }
}

/// Decodes a state that SET TARGET PORT GROUPS may request; `None` for other codes.
pub(crate) fn settable(code: u8) -> Option<AccessState> {
    match code {
        access_state::ACTIVE_OPTIMIZED => Some(AccessState::ActiveOptimized),
        access_state::ACTIVE_NON_OPTIMIZED => Some(AccessState::ActiveNonOptimized),
        access_state::STANDBY => Some(AccessState::Standby),
        access_state::UNAVAILABLE => Some(AccessState::Unavailable),
        _ => None,
    }
}

/// Explicit change in progress: nexus that requested it, and requested states.
#[derive(Clone, Debug)]
pub(super) struct ExplicitChange {
    nexus: NexusId,
    states: Vec<(u16, AccessState)>,
}

/// Guard: ends the explicit change when dropped.
struct ExplicitChangeGuard<'a>(&'a RefCell<Option<ExplicitChange>>);

impl Drop for ExplicitChangeGuard<'_> {
    fn drop(&mut self) {
        self.0.replace(None);
    }
}

/// Refuses a command that the state of the nexus's port does not permit.
pub(crate) fn check<D>(nexus: &Nexus<D>, command: &Command) -> Result<(), Fault> {
    let state = nexus.access_state();
    if state <= command.works_down_to { Ok(()) } else { Err(Fault::NotAccessible(state)) }
}

impl<D> ScsiTarget<D> {
    /// Waits until no other SET TARGET PORT GROUPS is executed.
    pub(crate) async fn port_group_lock(&self) -> FairLockGuard<'_> {
        self.port_group_lock.lock().await
    }

    /// Changes access states for a nexus (SET TARGET PORT GROUPS).
    pub(crate) async fn change_explicitly(
        &self,
        nexus: NexusId,
        states: Vec<(u16, AccessState)>,
    ) -> Result<(), AccessStateError> {
        self.explicit_change.replace(Some(ExplicitChange { nexus, states: states.clone() }));
        let _until_done = ExplicitChangeGuard(&self.explicit_change);
        self.units.store().set_access_states(states).await
    }

    /// Whether a command of the table exists for initiators.
    pub(crate) fn has(&self, command: &Command) -> bool {
        match command.exists {
            Exists::Always => true,
            Exists::WithExplicitAccess => self.explicit_access,
        }
    }

    /// Groups that have ports, with these ports.
    pub(crate) fn port_groups(&self) -> Vec<PortGroup> {
        let identity = self.identity.borrow();
        let ports_of = |group: u16| {
            let ports = identity.ports.iter().filter(|port| port.group == group);
            ports.map(|port| port.relative_identifier).collect::<Vec<_>>()
        };
        let with_ports = identity.groups.iter().map(|group| PortGroup {
            identifier: group.identifier,
            state: group.state,
            preferred: group.preferred,
            origin: group.origin,
            ports: ports_of(group.identifier),
        });
        with_ports.filter(|group| !group.ports.is_empty()).collect()
    }

    /// Group and state of a target port; no group and active/optimized for a port that is not
    /// listed.
    pub(crate) fn port_state(&self, relative_identifier: u16) -> (Option<u16>, AccessState) {
        let identity = self.identity.borrow();
        let port = identity.ports.iter().find(|port| port.relative_identifier == relative_identifier);
        let group = port.and_then(|port| identity.groups.iter().find(|group| group.identifier == port.group));
        (port.map(|port| port.group), group.map_or(AccessState::ActiveOptimized, |group| group.state))
    }

    fn refresh_states(&self) {
        for nexus in self.nexuses.borrow().all() {
            nexus.set_access_state(self.port_state(nexus.relative_target_port).1);
        }
    }

    /// Sets groups to transitioning until [`Self::set_port_groups`] or
    /// [`Self::port_group_transition_failed`]. No unit attention is raised before the result is
    /// known.
    pub fn begin_port_group_transition(&self, groups: &[u16]) {
        for group in self.identity.borrow_mut().groups.iter_mut().filter(|group| groups.contains(&group.identifier)) {
            group.state = AccessState::Transitioning;
        }
        self.refresh_states();
    }
}

impl<D: BlockDevice> ScsiTarget<D> {
    /// Replaces ports and groups; every port's group has to be among the groups.
    ///
    /// If a group's state, preference or members changed, every nexus gets ASYMMETRIC ACCESS STATE
    /// CHANGED on all logical units that it sees, except the nexus that requested exactly this
    /// change. A nexus whose port moved to another group gets INQUIRY DATA HAS CHANGED, because VPD
    /// page 83h names the group.
    pub fn set_port_groups(&self, ports: Vec<TargetPort>, groups: Vec<TargetPortGroup>) {
        let before = self.settled_groups();
        let members: BTreeMap<u16, Option<u16>> =
            self.nexus_ports().into_iter().map(|port| (port, self.port_state(port).0)).collect();
        {
            let mut identity = self.identity.borrow_mut();
            identity.ports = ports;
            identity.groups = groups;
        }
        self.settled.replace(self.port_groups());
        self.refresh_states();
        let after = self.settled_groups();
        let explicit = self.explicit_change.borrow().clone();
        let asker = explicit.filter(|change| {
            change.states.iter().all(|(group, state)| {
                after.iter().any(|settled| settled.identifier == *group && settled.state == *state)
            })
        });
        let visible = |group: &PortGroup| (group.identifier, group.state, group.preferred, group.ports.clone());
        let changed = !before.is_empty() && before.iter().map(visible).ne(after.iter().map(visible));
        for nexus in self.nexuses.borrow().all() {
            let moved = members
                .get(&nexus.relative_target_port)
                .is_some_and(|group| group.is_some() && *group != self.port_state(nexus.relative_target_port).0);
            for path in nexus.view() {
                if moved {
                    path.raise(AdditionalSense::INQUIRY_DATA_HAS_CHANGED);
                }
                if changed && asker.as_ref().is_none_or(|change| change.nexus != nexus.id) {
                    path.raise(AdditionalSense::ASYMMETRIC_ACCESS_STATE_CHANGED);
                }
            }
        }
    }

    /// Ends a failed transition of [`Self::begin_port_group_transition`]. The states return to
    /// their former values, and every nexus gets IMPLICIT ASYMMETRIC ACCESS STATE TRANSITION
    /// FAILED; if an initiator requested the change, its command fails instead.
    pub fn port_group_transition_failed(&self) {
        let settled = self.settled_groups();
        {
            let mut identity = self.identity.borrow_mut();
            for group in &mut identity.groups {
                if let Some(before) = settled.iter().find(|before| before.identifier == group.identifier) {
                    group.state = before.state;
                }
            }
        }
        self.refresh_states();
        if self.explicit_change.borrow().is_some() {
            return;
        }
        for nexus in self.nexuses.borrow().all() {
            for path in nexus.view() {
                path.raise(AdditionalSense::IMPLICIT_ASYMMETRIC_ACCESS_STATE_TRANSITION_FAILED);
            }
        }
    }

    /// Groups before the transition that is in progress.
    fn settled_groups(&self) -> Vec<PortGroup> {
        let settled = self.settled.borrow().clone();
        if settled.is_empty() { self.port_groups() } else { settled }
    }

    fn nexus_ports(&self) -> Vec<u16> {
        self.nexuses.borrow().all().iter().map(|nexus| nexus.relative_target_port).collect()
    }

    /// Next unit attention that is pending for a nexus on a volume. QUERY ASYNCHRONOUS EVENT
    /// reports it and leaves it pending.
    pub(crate) fn pending_attention(&self, nexus: &Nexus<D>, volume: VolumeId) -> Option<AdditionalSense> {
        nexus.view().iter().find(|path| path.unit().volume() == volume)?.pending_attention()
    }
}
