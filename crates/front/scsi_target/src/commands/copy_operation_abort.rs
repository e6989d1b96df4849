//! COPY OPERATION ABORT (83h/1Ch), SPC-4 §6.3.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::opcode::service_action;
use unit::{AccessState, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "COPY OPERATION ABORT",
    opcode: scsi::opcode::THIRD_PARTY_COPY_OUT,
    service_action: Some(service_action::COPY_OPERATION_ABORT),
    cdb_usage: &hex!("83 1c ffffffff 0000000000000000 00 00"),
    data: DataDirection::None,
    limit_blocks: None,
    reservation_class: ReservationClass::Control,
    harmless: None,
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

/// Aborts the operation with this list identifier, and returns when it can have no further effect.
/// Blocks that it has copied stay. Its command ends with TASK ABORTED if it was not answered yet.
/// `InvalidFieldInCdb`: no operation of the nexus runs under the identifier.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    if call.nexus.copies.abort(call.cdb.be32::<2>()).await {
        Ok(Reply::good())
    } else {
        Err(Fault::InvalidFieldInCdb(FieldPointer::cdb(2)))
    }
}
