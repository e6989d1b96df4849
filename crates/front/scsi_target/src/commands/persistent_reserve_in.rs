//! PERSISTENT RESERVE IN (5Eh), SPC-4 §6.15: registrations, reservation and capabilities.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::device::persistent_reservations::port_of;
use crate::reply::Reply;
use crate::sense::Fault;
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::persistent_reservation::{self, TransportId};
use unit::{AccessState, ReservationClass};

pub(super) const READ_KEYS: Command = Command {
    name: "PERSISTENT RESERVE IN, READ KEYS",
    opcode: scsi::opcode::PERSISTENT_RESERVE_IN,
    service_action: Some(service_action::READ_KEYS),
    cdb_usage: &hex!("5e 00 0000000000 ffff 00"),
    data: DataDirection::In,
    limit_blocks: None,
    reservation_class: ReservationClass::Reservation,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::Standby,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

pub(super) const READ_RESERVATION: Command = Command {
    name: "PERSISTENT RESERVE IN, READ RESERVATION",
    service_action: Some(service_action::READ_RESERVATION),
    cdb_usage: &hex!("5e 01 0000000000 ffff 00"),
    ..READ_KEYS
};

pub(super) const READ_FULL_STATUS: Command = Command {
    name: "PERSISTENT RESERVE IN, READ FULL STATUS",
    service_action: Some(service_action::READ_FULL_STATUS),
    cdb_usage: &hex!("5e 03 0000000000 ffff 00"),
    ..READ_KEYS
};

pub(super) const REPORT_CAPABILITIES: Command = Command {
    name: "PERSISTENT RESERVE IN, REPORT CAPABILITIES",
    service_action: Some(service_action::REPORT_CAPABILITIES),
    cdb_usage: &hex!("5e 02 0000000000 ffff 00"),
    ..READ_KEYS
};

/// READ KEYS: the key of each registration.
pub(super) fn keys<D>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let state = call.unit().reservations.state();
    let keys: Vec<u8> = state.keys.values().flat_map(|key| key.to_be_bytes()).collect();
    reply(call, state.generation, &keys)
}

/// READ RESERVATION: one descriptor, or none.
pub(super) fn reservation<D>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let state = call.unit().reservations.state();
    let descriptor = state.reservation.as_ref().map(|reservation| {
        let holder = Some(&reservation.holder).filter(|_| !reservation.kind.is_all_registrants());
        let key = holder.and_then(|holder| state.key(holder)).unwrap_or(0);
        persistent_reservation::reservation_descriptor(key, reservation.kind.number())
    });
    reply(call, state.generation, &descriptor.unwrap_or_default())
}

/// READ FULL STATUS: a descriptor for each registration.
pub(super) fn full_status<D>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let state = call.unit().reservations.state();
    let descriptors: Vec<u8> = state
        .keys
        .iter()
        .flat_map(|(registrant, key)| {
            let kind = state.reservation.as_ref().map(|reservation| reservation.kind.number());
            let id = port_of(registrant).map(|port| TransportId::Port(port).encode()).unwrap_or_default();
            let holds = kind.filter(|_| state.holds(registrant));
            persistent_reservation::full_status_descriptor(*key, holds, registrant.target_port, &id)
        })
        .collect();
    reply(call, state.generation, &descriptors)
}

/// REPORT CAPABILITIES.
pub(super) fn capabilities<D>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let active = call.unit().reservations.state().persists;
    let data = persistent_reservation::capabilities(true, active);
    Ok(Reply::parameter_data(data, call.cdb.be16::<7>()))
}

fn reply<D>(call: &Invocation<'_, D>, generation: u32, descriptors: &[u8]) -> Result<Reply, Fault> {
    let data = persistent_reservation::status(generation, descriptors);
    Ok(Reply::parameter_data(data, call.cdb.be16::<7>()))
}
