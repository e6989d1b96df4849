//! REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS (A3h/0Dh), SPC-4 §6.36.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::report;
use unit::{AccessState, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS",
    opcode: scsi::opcode::MAINTENANCE_IN,
    service_action: Some(service_action::REPORT_SUPPORTED_TASK_MANAGEMENT_FUNCTIONS),
    cdb_usage: &hex!("a3 0d 80 000000 ffffffff 00 00"),
    data: DataDirection::In,
    limit_blocks: None,
    reservation_class: ReservationClass::Capability,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::Unavailable,
    while_sanitizing: true,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

/// Lists the functions that the transport and [`crate::device`] execute. Functions of
/// SAM-3 and later are listed only if the session carries them (RFC 7144). REPD requests the
/// extended form.
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let always = report::ABORT_TASK
        | report::ABORT_TASK_SET
        | report::CLEAR_TASK_SET
        | report::LOGICAL_UNIT_RESET
        | report::TARGET_RESET;
    let functions = if call.nexus.query_functions() {
        [
            always | report::QUERY_TASK,
            report::QUERY_ASYNCHRONOUS_EVENT | report::QUERY_TASK_SET | report::I_T_NEXUS_RESET,
        ]
    } else {
        [always, 0]
    };
    let data = report::task_management_functions(functions, call.cdb.bit::<2>(0x80));
    Ok(Reply::parameter_data(data, call.cdb.be32::<6>()))
}
