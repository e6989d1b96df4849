//! Access states of target port groups, which `control` stores.

use control::{Control, ControlError, PortError};
use unit::{AccessState, AccessStateError};

/// Makes `control` change states for a host.
pub(crate) async fn set_states(control: &Control, states: Vec<(u16, AccessState)>) -> Result<(), AccessStateError> {
    control.set_port_group_states(states).await.map_err(|error| match error {
        ControlError::Port(PortError::LastPath { .. }) => AccessStateError::LastPath,
        error => {
            tracing::error!(%error, "the states of target port groups could not be stored");
            AccessStateError::Failed
        }
    })
}
