//! WRITE (0Ah, 2Ah, AAh, 8Ah), SBC-3 §5.31 to §5.34.

use crate::blocks::{BLOCK, blocks_in};
use crate::command::{Command, DataDirection, DataOut, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::limits::Limits;
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, Extent};
use hex_literal::hex;
use unit::LockMode;
use unit::{AccessState, Io, ReservationClass};

const WRITE: Command = Command {
    name: "WRITE (6)",
    opcode: scsi::opcode::WRITE_6,
    service_action: None,
    cdb_usage: &hex!("0a 1fffff ff 00"),
    data: DataDirection::Out(DataOut::Range),
    limit_blocks: Some(Limits::transfer_limit),
    reservation_class: ReservationClass::Write,
    harmless: None,
    awaited: true,
    medium: Medium::Writable,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::ActiveNonOptimized,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: Some(Io::Write),
    offload: None,
};

pub(super) const WRITE_6: Command = WRITE;

pub(super) const WRITE_10: Command = Command {
    name: "WRITE (10)",
    opcode: scsi::opcode::WRITE_10,
    cdb_usage: &hex!("2a 18 ffffffff 3f ffff 00"),
    ..WRITE
};

pub(super) const WRITE_12: Command = Command {
    name: "WRITE (12)",
    opcode: scsi::opcode::WRITE_12,
    cdb_usage: &hex!("aa 18 ffffffff ffffffff 3f 00"),
    ..WRITE
};

pub(super) const WRITE_16: Command = Command {
    name: "WRITE (16)",
    opcode: scsi::opcode::WRITE_16,
    cdb_usage: &hex!("8a 18 ffffffffffffffff ffffffff 3f 00"),
    ..WRITE
};

/// Stores Data-Out. When the initiator announces fewer bytes than the CDB names, only the blocks
/// that it sends are stored.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let extent = call.checked_extent(call.range())?;
    let needed_bytes = extent.count * BLOCK;
    let data = call.block_data_out(needed_bytes)?;
    let durability = call.durability();
    let stored = Extent { count: blocks_in(&data), ..extent };
    let stored_bytes = data.len() as u64;
    let _blocks = call.unit().extents.lock(LockMode::Write, &[stored]).await;
    call.unit().device().write(stored, data, durability).await?;
    call.unit().statistics.count_write(stored_bytes);
    Ok(Reply::took(needed_bytes))
}
