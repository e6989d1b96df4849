//! REGISTER AND MOVE (07h), SPC-4 §5.9.

use super::BASIS;
use super::register::initiator_ports;
use crate::command::{Command, Operation};
use crate::persistent_reservations::{NexusName, Reservation, Surroundings, Transition};
use crate::sense::Fault;
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::opcode::service_action;
use scsi::persistent_reservation::{Basic, MoveTarget, RegisterAndMove};

pub(in crate::commands) const COMMAND: Command = Command {
    name: "PERSISTENT RESERVE OUT, REGISTER AND MOVE",
    operation: Operation::PersistentReserveOutRegisterAndMove,
    service_action: Some(service_action::REGISTER_AND_MOVE),
    cdb_usage: &hex!("5f 07 ff 0000 ffffffff 00"),
    ..BASIS
};

/// Registers another I_T nexus and makes it the holder.
///
/// * `ReservationConflict`: not registered with this key, not the holder, or all registrants are.
/// * `InvalidFieldInCdb`: there is no reservation to move.
/// * `InvalidFieldInParameterList`: key 0, no such target port, no valid TransportID, one that names several ports or none, or the
///   sender itself.
/// * `InsufficientRegistrationResources`: above the limit of registrations.
pub(super) fn apply(
    change: &mut Transition<'_>,
    list: &RegisterAndMove,
    surroundings: &Surroundings,
) -> Result<(), Fault> {
    let invalid = |at: usize| Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at));
    change.authorise(list.key)?;
    let Some(reservation) = change.state.reservation.clone() else {
        return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(1, 4)));
    };
    if reservation.kind.is_all_registrants() || reservation.holder != *change.actor {
        return Err(Fault::ReservationConflict);
    }
    if list.service_action_key == 0 {
        return Err(invalid(Basic::SERVICE_ACTION_KEY_AT));
    }
    if !surroundings.target_ports.contains(&list.relative_target_port) {
        return Err(invalid(RegisterAndMove::RELATIVE_TARGET_PORT_AT));
    }
    let id = match &list.target {
        MoveTarget::TransportId(id) => id,
        MoveTarget::Invalid(at) => return Err(invalid(*at)),
    };
    let ports = initiator_ports(id, RegisterAndMove::TRANSPORT_ID_AT, surroundings)?;
    let [initiator_port] = ports.as_slice() else { return Err(invalid(RegisterAndMove::TRANSPORT_ID_AT)) };
    let holder = NexusName { relative_target_port: list.relative_target_port, initiator_port: initiator_port.clone() };
    if holder == *change.actor {
        return Err(invalid(RegisterAndMove::TRANSPORT_ID_AT));
    }
    change.state.reservation = Some(Reservation { kind: reservation.kind, holder: holder.clone() });
    if list.unregister {
        change.state.keys.remove(change.actor);
    }
    change.register(holder, list.service_action_key, surroundings)?;
    change.state.persists = list.persist_through_power_loss;
    change.count();
    Ok(())
}
