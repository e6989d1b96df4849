//! RELEASE (17h), SPC-2 §7.16: six-byte form, whole logical unit.

use crate::command::{Access, Command, DataDirection, Medium, Operation, UnitAttention};
use crate::invocation::{Invocation, Reply};
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;

pub(super) const COMMAND: Command = Command {
    name: "RELEASE (6)",
    operation: Operation::Release,
    opcode: scsi::opcode::RELEASE_6,
    service_action: None,
    cdb_usage: &hex!("17 00 0000 00 00"),
    data: DataDirection::None,
    access: Access::Always,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    offload: None,
};

/// Gives the reservation back. From a nexus that does not hold it this is a success without effect.
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    if call.unit.reservation() == Some(call.nexus.id) {
        call.unit.set_reservation(None);
    }
    Ok(Reply::good())
}
