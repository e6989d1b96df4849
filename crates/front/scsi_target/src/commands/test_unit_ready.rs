//! TEST UNIT READY (00h), SPC-4 §6.47.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use unit::{AccessState, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "TEST UNIT READY",
    opcode: scsi::opcode::TEST_UNIT_READY,
    service_action: None,
    cdb_usage: &hex!("00 00 0000 00 00"),
    data: DataDirection::None,
    limit_blocks: None,
    reservation_class: ReservationClass::Condition,
    harmless: None,
    awaited: false,
    medium: Medium::Present,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::Unavailable,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

/// Admission has checked reservation, unit attention and medium; nothing is left to do. ESXi probes
/// with the R bit and an expected length set: the response is GOOD with the whole length as
/// residual.
pub(super) fn execute<D: BlockDevice>(_call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    Ok(Reply::good())
}
