//! WRITE ATOMIC (9Ch), SBC-4 §5.48: stores all of the data or none of it, whatever crashes. Every
//! WRITE behaves like this here; WRITE ATOMIC guarantees it.

use crate::blocks::{BLOCK, BlockRange};
use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::limits::Limits;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::{Cdb, FieldPointer};
use unit::LockMode;
use unit::{AccessState, Io, ReservationClass};

// ATOMIC BOUNDARY (bytes 10 and 11) is refused, because MAXIMUM ATOMIC BOUNDARY SIZE is 0.
pub(super) const COMMAND: Command = Command {
    name: "WRITE ATOMIC (16)",
    opcode: scsi::opcode::WRITE_ATOMIC_16,
    service_action: None,
    cdb_usage: &hex!("9c 18 ffffffffffffffff 0000 ffff 3f 00"),
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
    limit_blocks: Some(Limits::atomic_limit),
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

/// LBA and TRANSFER LENGTH.
fn range(cdb: &Cdb) -> BlockRange {
    BlockRange { lba: cdb.be64::<2>(), count: u64::from(cdb.be16::<12>()), count_at: 12 }
}

/// Bytes of Data-Out; 0 above MAXIMUM ATOMIC TRANSFER LENGTH, or beyond the end of the medium.
fn data_out_bytes(query: &DataOutQuery<'_>) -> u64 {
    query.bytes_of(range(query.cdb))
}

/// Stores Data-Out at one instant: a reader sees all of it or nothing, also after a crash. The
/// transport has to announce exactly the length that the CDB names.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let range = range(&call.cdb);
    let extent = call.checked_extent(range)?;
    let needed_bytes = extent.count * BLOCK;
    let data = call.exact_data_out(needed_bytes, FieldPointer::cdb(range.count_at))?;
    let durability = call.durability();
    let _blocks = call.unit().extents.lock(LockMode::Write, &[extent]).await;
    call.unit().device().write(extent, data, durability).await?;
    call.unit().statistics.count_write(needed_bytes);
    Ok(Reply::took(needed_bytes))
}
