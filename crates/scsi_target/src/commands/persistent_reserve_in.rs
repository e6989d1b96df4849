//! PERSISTENT RESERVE IN (5Eh), SPC-4 §6.15, for logical units that offer no PERSISTENT RESERVE OUT: nobody can register, so every
//! answer says that nobody has, and the capabilities name no reservation type.

use crate::command::{Access, Command, DataDirection, Medium, Operation, UnitAttention};
use crate::invocation::{Invocation, Reply};
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::persistent_reservation;

/// PRGENERATION counts changes of the registrations; there are none.
const GENERATION: u32 = 0;

pub(super) const READ_KEYS: Command = Command {
    name: "PERSISTENT RESERVE IN, READ KEYS",
    operation: Operation::PersistentReserveInStatus,
    opcode: scsi::opcode::PERSISTENT_RESERVE_IN,
    service_action: Some(service_action::READ_KEYS),
    cdb_usage: &hex!("5e 00 0000000000 ffff 00"),
    data: DataDirection::In,
    access: Access::Read,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
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
    operation: Operation::PersistentReserveInCapabilities,
    service_action: Some(service_action::REPORT_CAPABILITIES),
    cdb_usage: &hex!("5e 02 0000000000 ffff 00"),
    ..READ_KEYS
};

/// READ KEYS, READ RESERVATION, READ FULL STATUS: the header alone.
pub(super) fn status<D>(call: &Invocation<'_, D>) -> Reply {
    Reply::parameter_data(persistent_reservation::status(GENERATION, &[]), call.cdb.be16::<7>())
}

/// REPORT CAPABILITIES: the type mask is valid and empty.
pub(super) fn capabilities<D>(call: &Invocation<'_, D>) -> Reply {
    Reply::parameter_data(persistent_reservation::capabilities(0), call.cdb.be16::<7>())
}
