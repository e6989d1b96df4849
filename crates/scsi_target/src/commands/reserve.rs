//! RESERVE (16h), SPC-2 §7.21: six-byte form, whole logical unit, no third party. VMFS uses it while it formats, even with ATS.

use crate::command::{Access, Command, DataDirection, Medium, Operation, UnitAttention};
use crate::invocation::{Invocation, Reply};
use crate::logical_unit::LogicalUnit;
use crate::nexus::NexusId;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;

pub(super) const COMMAND: Command = Command {
    name: "RESERVE (6)",
    operation: Operation::Reserve,
    opcode: scsi::opcode::RESERVE_6,
    service_action: None,
    cdb_usage: &hex!("16 00 0000 00 00"),
    data: DataDirection::None,
    access: Access::Read,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    offload: None,
};

/// Reserves the logical unit for this I_T nexus; again is a success. Completes when no write that was admitted before is in flight:
/// from then on nothing of another nexus takes effect.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let held = call.unit.reservation();
    call.unit.set_reservation(Some(call.nexus.id));
    let mut taken = Taken { unit: call.unit, nexus: call.nexus.id, give_back: held.is_none() };
    call.unit.writes.drained().await;
    taken.give_back = false;
    // A reset while waiting has taken the reservation back; the command is then one that the reset aborted.
    call.unit.check_reservation(call.nexus.id)?;
    Ok(Reply::good())
}

/// Gives a new reservation back when the command is aborted while it waits.
struct Taken<'a, D: BlockDevice> {
    unit: &'a LogicalUnit<D>,
    nexus: NexusId,
    give_back: bool,
}

impl<D: BlockDevice> Drop for Taken<'_, D> {
    fn drop(&mut self) {
        if self.give_back && self.unit.reservation() == Some(self.nexus) {
            self.unit.set_reservation(None);
        }
    }
}
