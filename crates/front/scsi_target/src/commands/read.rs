//! READ (08h, 28h, A8h, 88h), SBC-3 §5.10 to §5.13.

use crate::blocks::BLOCK;
use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::limits::Limits;
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, Extent};
use hex_literal::hex;
use unit::LockMode;
use unit::{AccessState, Io, ReservationClass};

const READ: Command = Command {
    name: "READ (6)",
    opcode: scsi::opcode::READ_6,
    service_action: None,
    cdb_usage: &hex!("08 1fffff ff 00"),
    data: DataDirection::In,
    limit_blocks: Some(Limits::transfer_limit),
    reservation_class: ReservationClass::Read,
    harmless: None,
    awaited: false,
    medium: Medium::Present,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::ActiveNonOptimized,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: Some(Io::Read),
    offload: None,
};

pub(super) const READ_6: Command = READ;

pub(super) const READ_10: Command =
    Command { name: "READ (10)", opcode: scsi::opcode::READ_10, cdb_usage: &hex!("28 18 ffffffff 3f ffff 00"), ..READ };

pub(super) const READ_12: Command = Command {
    name: "READ (12)",
    opcode: scsi::opcode::READ_12,
    cdb_usage: &hex!("a8 18 ffffffff ffffffff 3f 00"),
    ..READ
};

pub(super) const READ_16: Command = Command {
    name: "READ (16)",
    opcode: scsi::opcode::READ_16,
    cdb_usage: &hex!("88 18 ffffffffffffffff ffffffff 3f 00"),
    ..READ
};

/// Returns the blocks. When the initiator expects fewer bytes than the CDB names, only the blocks that it can receive
/// are read.
///
/// FUA with a write cache flushes the cache first: the data returned is on the medium (SBC-3
/// §4.15).
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let extent = call.checked_extent(call.range())?;
    let receivable = u64::from(call.request.expected_data_in).div_ceil(BLOCK);
    let wanted = Extent { count: extent.count.min(receivable), ..extent };
    let _blocks = call.unit().extents.lock(LockMode::Read, &[wanted]).await;
    let device = call.unit().device();
    if call.force_unit_access() && device.write_cache() {
        device.flush().await?;
    }
    let data = device.read(wanted).await?;
    call.unit().statistics.count_read(data.len() as u64);
    Ok(Reply::blocks(data, extent.count * BLOCK))
}
