//! RELEASE (17h), SPC-2 §7.16: six-byte form, whole logical unit.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use unit::{AccessState, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "RELEASE (6)",
    opcode: scsi::opcode::RELEASE_6,
    service_action: None,
    cdb_usage: &hex!("17 00 0000 00 00"),
    data: DataDirection::None,
    limit_blocks: None,
    reservation_class: ReservationClass::Always,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::Unavailable,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

/// Releases the reservation. From a nexus that does not hold it this is a success without effect,
/// unless there are registrations: see [`is_covered`].
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    if !is_covered(call)? && call.unit().reservations.whole() == Some(call.nexus.id.client()) {
        call.unit().reservations.set_whole(None);
    }
    Ok(Reply::good())
}

/// RESERVE and RELEASE together with persistent reservations (SPC-4 §5.9, CRH = 1). True when they
/// are a success without effect: the nexus holds the persistent reservation, or is registered and
/// the reservation is of a registrants only or all registrants type. False when there are no
/// registrations. Otherwise they conflict (SPC-2 §5.5.1).
pub(super) fn is_covered<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<bool, Fault> {
    if call.unit().reservations.state().keys.is_empty() {
        return Ok(false);
    }
    match call.unit().reservations.role(call.nexus.registrant.as_ref()) {
        Some((kind, role)) if ReservationClass::Control.permits(kind, role) => Ok(true),
        _ => Err(call.logical_unit.conflict()),
    }
}
