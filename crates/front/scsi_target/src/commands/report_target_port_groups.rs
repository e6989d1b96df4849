//! REPORT TARGET PORT GROUPS (A3h/0Ah), SPC-4 §6.37. All paths lead to the same thread; the
//! administrator chooses which of them hosts should use.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::device::port_groups::PortGroup;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::opcode::service_action;
use unit::{AccessState, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "REPORT TARGET PORT GROUPS",
    opcode: scsi::opcode::MAINTENANCE_IN,
    service_action: Some(service_action::REPORT_TARGET_PORT_GROUPS),
    cdb_usage: &hex!("a3 ea 00000000 ffffffff 00 00"),
    data: DataDirection::In,
    limit_blocks: None,
    reservation_class: ReservationClass::Always,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::Transitioning,
    while_sanitizing: true,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

/// IMPLICIT TRANSITION TIME: a transition takes one commit of the pool's log, which a slow medium
/// delays.
const IMPLICIT_TRANSITION_SECONDS: u8 = 60;

/// Returns the same data through every port: ESXi takes the whole response of any port as current.
/// PARAMETER DATA FORMAT 001b adds a header extension.
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let extended = match call.cdb.byte::<1>() >> 5 {
        0b000 => false,
        0b001 => true,
        _ => return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(1, 7))),
    };
    let extended = extended.then_some(IMPLICIT_TRANSITION_SECONDS);
    let groups: Vec<_> = call.target.port_groups().iter().map(PortGroup::reported).collect();
    let data = scsi::target_port_groups::report(&groups, extended);
    Ok(Reply::parameter_data(data, call.cdb.be32::<6>()))
}
