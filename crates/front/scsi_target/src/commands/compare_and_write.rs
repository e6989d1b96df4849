//! COMPARE AND WRITE (89h), SBC-3 §5.2. VMware calls it Atomic Test and Set (ATS).

use crate::blocks::BLOCK;
use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, CompareOutcome};
use hex_literal::hex;
use scsi::FieldPointer;
use unit::AccessClass;
use unit::{Access, AccessState};
use unit::{OffloadWork, Primitive};

pub(super) const COMMAND: Command = Command {
    name: "COMPARE AND WRITE",
    opcode: scsi::opcode::COMPARE_AND_WRITE,
    service_action: None,
    cdb_usage: &hex!("89 18 ffffffffffffffff 000000 ff 3f 00"),
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
    access: Access::Write,
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

/// Bytes of Data-Out; 0 above MAXIMUM COMPARE AND WRITE LENGTH.
fn data_out_bytes(query: &DataOutQuery<'_>) -> u64 {
    let count = query.cdb.byte::<13>();
    if count <= query.limits.compare_and_write_blocks { u64::from(count) * 2 * BLOCK } else { 0 }
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
    const COUNT_AT: FieldPointer = FieldPointer::cdb(13);
    let count = u64::from(call.cdb.byte::<13>());
    let limit = u64::from(call.target.limits().compare_and_write_blocks);
    if count > limit {
        return Err(Fault::AboveLimit { requested: count, limit, at: COUNT_AT });
    }
    let extent = call.unit.checked_range(call.cdb.be64::<2>(), count)?;
    let half_bytes = count * BLOCK;
    let data = call.exact_data_out(2 * half_bytes, COUNT_AT)?;
    if count == 0 {
        return Ok(Reply::good());
    }
    let half = data.len() / 2;
    let durability = call.durability();
    let _blocks = call.unit.extents.lock(AccessClass::Write, &[extent]).await;
    let device = call.unit.device();
    match device.compare_and_write(extent, data.slice(..half), data.slice(half..), durability).await? {
        CompareOutcome::Written => {
            Ok(Reply::took(2 * half_bytes).offloaded(OffloadWork { bytes: half_bytes, ..OffloadWork::default() }))
        }
        CompareOutcome::Miscompare { offset_bytes } => Err(Fault::Miscompare { offset_bytes: u64::from(offset_bytes) }),
    }
}
