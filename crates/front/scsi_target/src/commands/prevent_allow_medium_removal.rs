//! PREVENT ALLOW MEDIUM REMOVAL (1Eh), SBC-3 §5.7.

use crate::command::{Command, DataDirection, Medium, Operation, UnitAttention};
use crate::invocation::{Invocation, Reply};
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::FieldPointer;
use unit::Access;

pub(super) const COMMAND: Command = Command {
    name: "PREVENT ALLOW MEDIUM REMOVAL",
    operation: Operation::PreventAllowMediumRemoval,
    opcode: scsi::opcode::PREVENT_ALLOW_MEDIUM_REMOVAL,
    service_action: None,
    cdb_usage: &hex!("1e 00 0000 03 00"),
    data: DataDirection::None,
    access: Access::Control,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    offload: None,
};

/// Prevents or allows ejecting the medium, for this I_T nexus. The medium stays while any nexus prevents its removal; a nexus that is
/// lost prevents nothing. Values 10b and 11b are obsolete.
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    match call.cdb.byte::<4>() & 0b11 {
        prevent @ (0b00 | 0b01) => call.unit.set_prevent(call.nexus.id, prevent == 0b01),
        _ => return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(4, 1))),
    }
    Ok(Reply::good())
}
