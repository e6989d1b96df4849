//! SYNCHRONIZE CACHE (35h, 91h), SBC-3 §5.26 and §5.27.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use unit::{AccessState, ReservationClass};

pub(super) const SYNCHRONIZE_CACHE_10: Command = Command {
    name: "SYNCHRONIZE CACHE (10)",
    opcode: scsi::opcode::SYNCHRONIZE_CACHE_10,
    service_action: None,
    cdb_usage: &hex!("35 06 ffffffff 3f ffff 00"),
    data: DataDirection::None,
    limit_blocks: None,
    reservation_class: ReservationClass::Control,
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

pub(super) const SYNCHRONIZE_CACHE_16: Command = Command {
    name: "SYNCHRONIZE CACHE (16)",
    opcode: scsi::opcode::SYNCHRONIZE_CACHE_16,
    cdb_usage: &hex!("91 06 ffffffffffffffff ffffffff 3f 00"),
    ..SYNCHRONIZE_CACHE_10
};

/// Makes every acknowledged write durable, not only those of the range. IMMED permits an early
/// response, which is not used.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let range = call.range();
    call.logical_unit.checked_range(range.lba, range.count)?;
    call.unit().device().flush().await?;
    Ok(Reply::good())
}
