//! PREVENT ALLOW MEDIUM REMOVAL (1Eh), SBC-3 §5.7.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::FieldPointer;
use unit::{AccessState, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "PREVENT ALLOW MEDIUM REMOVAL",
    opcode: scsi::opcode::PREVENT_ALLOW_MEDIUM_REMOVAL,
    service_action: None,
    cdb_usage: &hex!("1e 00 0000 03 00"),
    data: DataDirection::None,
    limit_blocks: None,
    reservation_class: ReservationClass::Control,
    harmless: Some(allows_removal),
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::ActiveNonOptimized,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

/// Allowing removal conflicts with no persistent reservation.
fn allows_removal(cdb: &scsi::Cdb) -> bool {
    cdb.byte::<4>() & 0x03 == 0
}

/// Prevents or allows ejecting the medium, for this I_T nexus. The medium stays while any nexus prevents its removal;
/// a nexus that is lost prevents nothing. Values 10b and 11b are obsolete.
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    match call.cdb.byte::<4>() & 0b11 {
        prevent @ (0b00 | 0b01) => call.logical_unit.set_prevent(call.nexus.id, prevent == 0b01),
        _ => return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(4, 1))),
    }
    Ok(Reply::good())
}
