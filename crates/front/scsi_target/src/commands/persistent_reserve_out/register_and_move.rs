//! REGISTER AND MOVE (07h), SPC-4 §5.9.

use super::register::initiator_ports;
use super::{BASIS, fault};
use crate::command::Command;
use crate::device::persistent_reservations::{Ports, registrant_of};
use crate::sense::Fault;
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::opcode::service_action;
use scsi::persistent_reservation::{Basic, MoveTarget, RegisterAndMove};
use unit::reservations::Transition;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "PERSISTENT RESERVE OUT, REGISTER AND MOVE",
    service_action: Some(service_action::REGISTER_AND_MOVE),
    cdb_usage: &hex!("5f 07 ff 0000 ffffffff 00"),
    ..BASIS
};

/// Registers another I_T nexus and moves the reservation to it.
///
/// * `ReservationConflict`: not registered with this key, not the holder, or the type is all
///   registrants.
/// * `InvalidFieldInCdb`: there is no reservation to move.
/// * `InvalidFieldInParameterList`: key 0, unknown target port, invalid TransportID, or a
///   TransportID that names several ports, none or the sender itself.
/// * `InsufficientRegistrationResources`: above the limit of registrations.
pub(super) fn apply(change: &mut Transition<'_>, list: &RegisterAndMove, ports: &Ports) -> Result<(), Fault> {
    let invalid = |at: usize| Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at));
    change.authorise(list.key).map_err(fault)?;
    let state = change.state();
    let Some(reservation) = &state.reservation else {
        return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(1, 4)));
    };
    if reservation.kind.is_all_registrants() || !state.holds(change.actor()) {
        return Err(Fault::ReservationConflict(None));
    }
    if list.service_action_key == 0 {
        return Err(invalid(Basic::SERVICE_ACTION_KEY_AT));
    }
    if !ports.target.contains(&list.relative_target_port) {
        return Err(invalid(RegisterAndMove::RELATIVE_TARGET_PORT_AT));
    }
    let id = match &list.target {
        MoveTarget::TransportId(id) => id,
        MoveTarget::Invalid(at) => return Err(invalid(*at)),
    };
    let initiator_ports = initiator_ports(id, RegisterAndMove::TRANSPORT_ID_AT, ports)?;
    let [initiator_port] = initiator_ports.as_slice() else { return Err(invalid(RegisterAndMove::TRANSPORT_ID_AT)) };
    let holder = registrant_of(initiator_port, list.relative_target_port);
    if holder == *change.actor() {
        return Err(invalid(RegisterAndMove::TRANSPORT_ID_AT));
    }
    change.move_to(holder, list.service_action_key, list.unregister).map_err(fault)?;
    change.finish_registration(list.persist_through_power_loss);
    Ok(())
}
