//! Target port groups between `control`, which keeps them, and the SCSI target, which shows them to hosts.

use control::{Control, ControlError, Directory, StateOrigin};
use scsi_target::{AccessState, PortGroupError, PortGroupStore, TargetPort, TargetPortGroup};
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};

/// Ports and groups as the directory has them. Each portal is a target portal group of its own, with the tag of its port's identifier.
pub(crate) fn of(directory: &Directory) -> (Vec<TargetPort>, Vec<TargetPortGroup>) {
    let ports = directory.ports().into_iter().map(|port| TargetPort {
        relative_identifier: port.identifier,
        portal_group_tag: port.identifier,
        group: port.group,
    });
    let groups = directory.port_groups().into_iter().map(|record| TargetPortGroup {
        identifier: record.identifier,
        state: to_target(record.state),
        preferred: record.preferred,
        origin: match record.origin {
            StateOrigin::None => scsi_target::StateOrigin::None,
            StateOrigin::Explicit => scsi_target::StateOrigin::Explicit,
            StateOrigin::Implicit => scsi_target::StateOrigin::Implicit,
        },
    });
    (ports.collect(), groups.collect())
}

fn to_target(state: control::AccessState) -> AccessState {
    match state {
        control::AccessState::ActiveOptimized => AccessState::ActiveOptimized,
        control::AccessState::ActiveNonOptimized => AccessState::ActiveNonOptimized,
        control::AccessState::Standby => AccessState::Standby,
        control::AccessState::Unavailable => AccessState::Unavailable,
        control::AccessState::Transitioning => AccessState::Transitioning,
    }
}

fn to_control(state: AccessState) -> control::AccessState {
    match state {
        AccessState::ActiveOptimized => control::AccessState::ActiveOptimized,
        AccessState::ActiveNonOptimized => control::AccessState::ActiveNonOptimized,
        AccessState::Standby => control::AccessState::Standby,
        AccessState::Unavailable => control::AccessState::Unavailable,
        AccessState::Transitioning => control::AccessState::Transitioning,
    }
}

/// Has `control` change states for an initiator. It does not keep `control` alive.
pub(crate) struct Store(pub Weak<Control>);

impl Store {
    pub fn new(control: &Rc<Control>) -> Rc<Self> {
        Rc::new(Self(Rc::downgrade(control)))
    }
}

impl PortGroupStore for Store {
    fn set_states(&self, states: Vec<(u16, AccessState)>) -> Pin<Box<dyn Future<Output = Result<(), PortGroupError>>>> {
        let control = self.0.upgrade();
        Box::pin(async move {
            let Some(control) = control else { return Err(PortGroupError::Failed) };
            let states = states.into_iter().map(|(group, state)| (group, to_control(state))).collect();
            control.set_port_group_states(states).await.map_err(|error| match error {
                ControlError::LastPath { .. } => PortGroupError::LastPath,
                error => {
                    tracing::error!(%error, "the states of target port groups could not be stored");
                    PortGroupError::Failed
                }
            })
        })
    }
}
