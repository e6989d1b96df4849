//! REGISTER (00h) and REGISTER AND IGNORE EXISTING KEY (06h) of PERSISTENT RESERVE OUT, SPC-4 §5.9.

use super::{BASIS, fault};
use crate::command::Command;
use crate::device::persistent_reservations::{Ports, registrant_of};
use crate::sense::Fault;
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::opcode::service_action;
use scsi::persistent_reservation::{Basic, InitiatorPort, TransportId};
use std::collections::BTreeSet;
use unit::Registrant;
use unit::reservations::Transition;

pub(in crate::commands) const REGISTER: Command = Command {
    name: "PERSISTENT RESERVE OUT, REGISTER",
    service_action: Some(service_action::REGISTER),
    cdb_usage: &hex!("5f 00 ff 0000 ffffffff 00"),
    ..BASIS
};

pub(in crate::commands) const REGISTER_AND_IGNORE_EXISTING_KEY: Command = Command {
    name: "PERSISTENT RESERVE OUT, REGISTER AND IGNORE EXISTING KEY",
    service_action: Some(service_action::REGISTER_AND_IGNORE_EXISTING_KEY),
    cdb_usage: &hex!("5f 06 ff 0000 ffffffff 00"),
    ..BASIS
};

/// Registers, changes the key or (SERVICE ACTION RESERVATION KEY 0) unregisters, independently of
/// the reservation.
///
/// * SPEC_I_PT, in a REGISTER that creates a registration: also registers the initiator ports of
///   the list that are not registered yet. A TransportID that names a device stands for its ports
///   that are logged in; `InvalidFieldInParameterList` when none is.
/// * ALL_TG_PT: applies to every target port; `ReservationConflict` when one of the registrations
///   has another key than the RESERVATION KEY.
/// * `InsufficientRegistrationResources`: above the limit of registrations.
pub(super) fn apply(
    change: &mut Transition<'_>,
    basic: &Basic,
    transport_ids: &[(usize, TransportId)],
    ignore_existing_key: bool,
    ports: &Ports,
) -> Result<(), Fault> {
    let specify_at = FieldPointer::parameter_list_bit(Basic::FLAGS_AT, Basic::SPEC_I_PT_BIT);
    let actor = change.actor();
    let existing = change.state().key(actor);
    if !ignore_existing_key && existing.unwrap_or(0) != basic.key {
        return Err(Fault::ReservationConflict(None));
    }
    let new_key = basic.service_action_key;
    if basic.specify_initiator_ports && (existing.is_some() || new_key == 0) {
        return Err(Fault::InvalidFieldInParameterList(specify_at));
    }
    if existing.is_none() && new_key == 0 {
        return Ok(());
    }
    let target_ports = target_ports(actor, basic, ports);
    let at = |target_port: &u16| Registrant { target_port: *target_port, ..actor.clone() };
    let registrants: Vec<_> = target_ports.iter().map(at).collect();
    let key = Some(basic.key).filter(|_| !ignore_existing_key);
    change.register(&registrants, key, new_key).map_err(fault)?;
    for (at, id) in transport_ids {
        for initiator_port in initiator_ports(id, *at, ports)? {
            for target_port in target_ports.iter().copied() {
                change.register_other(registrant_of(&initiator_port, target_port), new_key).map_err(fault)?;
            }
        }
    }
    change.finish_registration(basic.persist_through_power_loss);
    Ok(())
}

/// Target ports for which registrations are created.
fn target_ports(actor: &Registrant, basic: &Basic, ports: &Ports) -> BTreeSet<u16> {
    let others = ports.target.iter().copied().filter(|_| basic.all_target_ports);
    others.chain([actor.target_port]).collect()
}

/// Initiator ports that a TransportID stands for; `at`: its position in the parameter list.
pub(super) fn initiator_ports(id: &TransportId, at: usize, ports: &Ports) -> Result<Vec<InitiatorPort>, Fault> {
    let found: BTreeSet<_> = match id {
        TransportId::Port(port) => [port.clone()].into(),
        TransportId::Device(name) => ports.initiator.iter().filter(|port| port.name() == name).cloned().collect(),
    };
    if found.is_empty() {
        return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at)));
    }
    Ok(found.into_iter().collect())
}
