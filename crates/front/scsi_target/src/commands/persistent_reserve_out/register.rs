//! REGISTER (00h) and REGISTER AND IGNORE EXISTING KEY (06h), SPC-4 §5.9.

use super::BASIS;
use crate::command::{Command, Operation};
use crate::persistent_reservations::{NexusName, Surroundings, Transition};
use crate::sense::Fault;
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::opcode::service_action;
use scsi::persistent_reservation::{Basic, TransportId};
use std::collections::BTreeSet;

pub(in crate::commands) const REGISTER: Command = Command {
    name: "PERSISTENT RESERVE OUT, REGISTER",
    operation: Operation::PersistentReserveOutRegister,
    service_action: Some(service_action::REGISTER),
    cdb_usage: &hex!("5f 00 ff 0000 ffffffff 00"),
    ..BASIS
};

pub(in crate::commands) const REGISTER_AND_IGNORE_EXISTING_KEY: Command = Command {
    name: "PERSISTENT RESERVE OUT, REGISTER AND IGNORE EXISTING KEY",
    operation: Operation::PersistentReserveOutRegister,
    service_action: Some(service_action::REGISTER_AND_IGNORE_EXISTING_KEY),
    cdb_usage: &hex!("5f 06 ff 0000 ffffffff 00"),
    ..BASIS
};

/// Registers, changes the key or (SERVICE ACTION RESERVATION KEY 0) unregisters, whatever the reservation.
///
/// * SPEC_I_PT, in a REGISTER that makes a registration: the initiator ports of the list are registered too, where they are not yet.
///   A TransportID that names a device stands for its ports that are logged in; `InvalidFieldInParameterList` when none is.
/// * ALL_TG_PT: all that with every target port; `ReservationConflict` when one of them has another key than the RESERVATION KEY.
/// * `InsufficientRegistrationResources`: above the limit of registrations.
pub(super) fn apply(
    change: &mut Transition<'_>,
    basic: &Basic,
    transport_ids: &[(usize, TransportId)],
    ignore_existing_key: bool,
    surroundings: &Surroundings,
) -> Result<(), Fault> {
    let specify_at = FieldPointer::parameter_list_bit(Basic::FLAGS_AT, Basic::SPEC_I_PT_BIT);
    let existing = change.state.key(change.actor);
    if !ignore_existing_key && existing.unwrap_or(0) != basic.key {
        return Err(Fault::ReservationConflict);
    }
    let new_key = basic.service_action_key;
    if basic.specify_initiator_ports && (existing.is_some() || new_key == 0) {
        return Err(Fault::InvalidFieldInParameterList(specify_at));
    }
    if existing.is_none() && new_key == 0 {
        return Ok(());
    }
    let target_ports = target_ports(change.actor, basic, surroundings);
    for relative_target_port in target_ports.iter().copied() {
        let nexus = NexusName { relative_target_port, ..change.actor.clone() };
        let other_key = change.state.key(&nexus).filter(|key| *key != basic.key);
        if !ignore_existing_key && nexus != *change.actor && other_key.is_some() {
            return Err(Fault::ReservationConflict);
        }
        if new_key == 0 {
            change.unregister(&nexus);
        } else {
            change.register(nexus, new_key, surroundings)?;
        }
    }
    let Transition { state, attentions, .. } = change;
    attentions.retain(|(nexus, _)| state.keys.contains_key(nexus));
    for (at, id) in transport_ids {
        for initiator_port in initiator_ports(id, *at, surroundings)? {
            for relative_target_port in target_ports.iter().copied() {
                let nexus = NexusName { relative_target_port, initiator_port: initiator_port.clone() };
                if change.state.key(&nexus).is_none() {
                    change.register(nexus, new_key, surroundings)?;
                }
            }
        }
    }
    change.state.persists = basic.persist_through_power_loss;
    change.count();
    Ok(())
}

/// The target ports that registrations are made with.
fn target_ports(actor: &NexusName, basic: &Basic, surroundings: &Surroundings) -> BTreeSet<u16> {
    let others = surroundings.target_ports.iter().copied().filter(|_| basic.all_target_ports);
    others.chain([actor.relative_target_port]).collect()
}

/// The initiator ports that a TransportID stands for; `at` is where it begins in the parameter list.
pub(super) fn initiator_ports(
    id: &TransportId,
    at: usize,
    surroundings: &Surroundings,
) -> Result<Vec<scsi::persistent_reservation::InitiatorPort>, Fault> {
    let ports: BTreeSet<_> = match id {
        TransportId::Port(port) => [port.clone()].into(),
        TransportId::Device(name) => {
            surroundings.initiator_ports.iter().filter(|port| port.name() == name).cloned().collect()
        }
    };
    if ports.is_empty() {
        return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at)));
    }
    Ok(ports.into_iter().collect())
}
