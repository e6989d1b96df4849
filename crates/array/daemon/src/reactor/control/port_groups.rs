//! Access states of target port groups, which `control` stores.

use control::{Control, ControlError, Directory};
use scsi_target::{TargetPort, TargetPortGroup};
use unit::{AccessState, AccessStateError};

/// Ports and groups as the directory has them. Each portal is a target portal group of its own, with the tag of its port's identifier.
pub(crate) fn of(directory: &Directory) -> (Vec<TargetPort>, Vec<TargetPortGroup>) {
    let ports = directory.ports().into_iter().map(|port| TargetPort {
        relative_identifier: port.identifier,
        portal_group_tag: port.identifier,
        group: port.group,
    });
    let groups = directory.port_groups().into_iter().map(|record| TargetPortGroup {
        identifier: record.identifier,
        state: record.state,
        preferred: record.preferred,
        origin: record.origin,
    });
    (ports.collect(), groups.collect())
}

/// Has `control` change states for an initiator.
pub(crate) async fn set_states(control: &Control, states: Vec<(u16, AccessState)>) -> Result<(), AccessStateError> {
    control.set_port_group_states(states).await.map_err(|error| match error {
        ControlError::LastPath { .. } => AccessStateError::LastPath,
        error => {
            tracing::error!(%error, "the states of target port groups could not be stored");
            AccessStateError::Failed
        }
    })
}
