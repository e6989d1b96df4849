//! PRE-FETCH (34h, 90h), SBC-3 §5.8 and §5.9.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use unit::{AccessState, ReservationClass};

pub(super) const PRE_FETCH_10: Command = Command {
    name: "PRE-FETCH (10)",
    opcode: scsi::opcode::PRE_FETCH_10,
    service_action: None,
    cdb_usage: &hex!("34 02 ffffffff 3f ffff 00"),
    data: DataDirection::None,
    limit_blocks: None,
    reservation_class: ReservationClass::Read,
    harmless: None,
    awaited: false,
    medium: Medium::Present,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::ActiveNonOptimized,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

pub(super) const PRE_FETCH_16: Command = Command {
    name: "PRE-FETCH (16)",
    opcode: scsi::opcode::PRE_FETCH_16,
    cdb_usage: &hex!("90 02 ffffffffffffffff ffffffff 3f 00"),
    ..PRE_FETCH_10
};

/// Checks the range; a count of 0 means to the end. Returns GOOD, not CONDITION MET: no block is
/// cached for a later READ, and GOOD is the status for a cache that cannot take all blocks.
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let range = call.range();
    call.logical_unit.checked_range(range.lba, range.count)?;
    Ok(Reply::good())
}
