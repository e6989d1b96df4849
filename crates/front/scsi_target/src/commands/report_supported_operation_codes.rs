//! REPORT SUPPORTED OPERATION CODES (A3h/0Ch), SPC-4 §6.35: the command table, as the initiator sees it.

use super::commands;
use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::opcode::service_action;
use scsi::report::{self, Support};
use unit::{AccessState, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "REPORT SUPPORTED OPERATION CODES",
    opcode: scsi::opcode::MAINTENANCE_IN,
    service_action: Some(service_action::REPORT_SUPPORTED_OPERATION_CODES),
    cdb_usage: &hex!("a3 0c 87 ff ffff ffffffff 00 00"),
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

/// REPORTING OPTIONS: 000b lists all commands; 001b one by operation code; 010b one by operation
/// code and service action (001b and 010b each refuse a command of the other kind); 011b one of
/// either kind.
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let timeouts = call.cdb.bit::<2>(0x80);
    let opcode = call.cdb.byte::<3>();
    let wanted = call.cdb.be16::<4>();
    let rows = || commands().filter(|row| call.target.has(row));
    let has_service_actions = rows().any(|row| row.opcode == opcode && row.service_action.is_some());
    let plain = || rows().find(|row| row.opcode == opcode && row.service_action.is_none());
    let by_service_action = || {
        let service_action = u8::try_from(wanted).ok()?;
        rows().find(|row| row.opcode == opcode && row.service_action == Some(service_action))
    };
    let opcode_at = FieldPointer::cdb(3);
    let service_action_at = FieldPointer::cdb(4);
    let one = match call.cdb.byte::<2>() & 0b111 {
        0b000 => {
            let rows = rows()
                .map(|row| (row.opcode, row.service_action, u16::try_from(row.cdb_usage.len()).unwrap_or(u16::MAX)));
            let data = report::all_commands(rows, timeouts);
            return Ok(Reply::parameter_data(data, call.cdb.be32::<6>()));
        }
        0b001 if has_service_actions => return Err(Fault::InvalidFieldInCdb(opcode_at)),
        0b001 => plain(),
        0b010 if has_service_actions => by_service_action(),
        0b010 if plain().is_some() => return Err(Fault::InvalidFieldInCdb(service_action_at)),
        0b010 => None,
        0b011 if has_service_actions => by_service_action(),
        0b011 => plain().filter(|_| wanted == 0),
        _ => return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(2, 2))),
    };
    let data = match one {
        Some(row) => report::one_command(Support::Standard, row.cdb_usage, timeouts),
        None => report::one_command(Support::No, &[], timeouts),
    };
    Ok(Reply::parameter_data(data, call.cdb.be32::<6>()))
}
