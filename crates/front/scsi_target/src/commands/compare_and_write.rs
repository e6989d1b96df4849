//! COMPARE AND WRITE (89h), SBC-3 §5.2. VMware calls it Atomic Test and Set (ATS).

use crate::blocks::{BLOCK, BlockRange};
use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::limits::Limits;
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, CompareOutcome};
use hex_literal::hex;
use scsi::{Cdb, FieldPointer};
use unit::LockMode;
use unit::{AccessState, ReservationClass};
use unit::{OffloadWork, Primitive};

pub(super) const COMMAND: Command = Command {
    name: "COMPARE AND WRITE",
    opcode: scsi::opcode::COMPARE_AND_WRITE,
    service_action: None,
    cdb_usage: &hex!("89 18 ffffffffffffffff 000000 ff 3f 00"),
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
    limit_blocks: Some(Limits::compare_and_write_limit),
    reservation_class: ReservationClass::Write,
    harmless: None,
    awaited: true,
    medium: Medium::Writable,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::ActiveNonOptimized,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: Some(Primitive::Ats),
};

/// LBA and NUMBER OF LOGICAL BLOCKS.
fn range(cdb: &Cdb) -> BlockRange {
    BlockRange { lba: cdb.be64::<2>(), count: u64::from(cdb.byte::<13>()), count_at: 13 }
}

/// Bytes of Data-Out; 0 above MAXIMUM COMPARE AND WRITE LENGTH, or beyond the end of the medium.
fn data_out_bytes(query: &DataOutQuery<'_>) -> u64 {
    2 * query.bytes_of(range(query.cdb))
}

/// Compares the medium with the first half of Data-Out and, if equal, writes the second half.
///
/// * Data-Out: 2 × NUMBER OF LOGICAL BLOCKS blocks, the verify half first; the transport has to
///   announce exactly that length.
/// * Atomic against every other access to the blocks: the device compares and writes at one
///   instant, never between two steps of a multi-step command.
/// * `Fault::Miscompare`: offset in bytes of the first difference; nothing was written.
/// * `Fault::AboveLimit`: above MAXIMUM COMPARE AND WRITE LENGTH (VPD page B0h).
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let range = range(&call.cdb);
    let extent = call.checked_extent(range)?;
    let half_bytes = extent.count * BLOCK;
    let data = call.exact_data_out(2 * half_bytes, FieldPointer::cdb(range.count_at))?;
    if extent.count == 0 {
        return Ok(Reply::good());
    }
    let half = data.len() / 2;
    let durability = call.durability();
    let _blocks = call.unit().extents.lock(LockMode::Write, &[extent]).await;
    let device = call.unit().device();
    match device.compare_and_write(extent, data.slice(..half), data.slice(half..), durability).await? {
        CompareOutcome::Written => {
            Ok(Reply::took(2 * half_bytes).offloaded(OffloadWork { bytes: half_bytes, ..OffloadWork::default() }))
        }
        CompareOutcome::Miscompare { offset_bytes } => Err(Fault::Miscompare { offset_bytes: u64::from(offset_bytes) }),
    }
}
