//! WRITE SAME (41h, 93h), SBC-3 §5.44 and §5.45. VMware's Block Zero.

use crate::blocks::{BLOCK, BlockRange};
use crate::charges::Moved;
use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::limits::{Limits, OPTIMAL_TRANSFER_BLOCKS};
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, Durability, Extent};
use bytes::Bytes;
use hex_literal::hex;
use scsi::{Cdb, FieldPointer};
use unit::LockMode;
use unit::{AccessState, ReservationClass};
use unit::{OffloadWork, Primitive};

// Byte 1: UNMAP (bit 3), NDOB (bit 0, 16-byte form). ANCHOR is refused, because ANC_SUP is 0.

pub(super) const WRITE_SAME_10: Command = Command {
    name: "WRITE SAME (10)",
    opcode: scsi::opcode::WRITE_SAME_10,
    service_action: None,
    cdb_usage: &hex!("41 08 ffffffff 3f ffff 00"),
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
    limit_blocks: Some(Limits::write_same_limit),
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
    offload: Some(Primitive::Zero),
};

pub(super) const WRITE_SAME_16: Command = Command {
    name: "WRITE SAME (16)",
    opcode: scsi::opcode::WRITE_SAME_16,
    cdb_usage: &hex!("93 09 ffffffffffffffff ffffffff 3f 00"),
    ..WRITE_SAME_10
};

/// NDOB of the 16-byte form: there is no Data-Out, the block is all zeros.
fn no_data_out(command: &Command, cdb: &Cdb) -> bool {
    command.cdb_usage.len() == 16 && cdb.bit::<1>(0x01)
}

/// Bytes of Data-Out: one block, or none.
fn data_out_bytes(query: &DataOutQuery<'_>) -> u64 {
    if no_data_out(query.command, query.cdb) { 0 } else { BLOCK }
}

/// Writes one block over a range.
///
/// * Data-Out: exactly one block; none with NDOB.
/// * A block of zeros, with or without UNMAP, deallocates the range as a metadata operation: LBPRZ = 1, so it reads
///   as zeros.
/// * Any other block is written, also with UNMAP = 1: a read has to return the block that was sent
///   (SBC-3 §4.7.3.4).
/// * A count of 0 is refused (WSNZ = 1), or means to the end of the medium, depending on the
///   logical unit's profile.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let range = call.range();
    let count_at = FieldPointer::cdb(range.count_at);
    let count = if range.count > 0 {
        range.count
    } else if call.logical_unit.profile.write_same_to_end {
        let start = call.logical_unit.checked_range(range.lba, 0)?;
        call.unit().block_count().saturating_sub(start.lba.0)
    } else {
        call.logical_unit.checked_range(range.lba, 0)?;
        return Err(Fault::InvalidFieldInCdb(count_at));
    };
    let extent = call.checked_extent(BlockRange { count, ..range })?;
    let no_data_out = no_data_out(call.command, &call.cdb);
    let payload_bytes = if no_data_out { 0 } else { BLOCK };
    let payload = call.exact_data_out(payload_bytes, FieldPointer::cdb(1))?;
    let zeros = payload.iter().all(|byte| *byte == 0);
    let class = if zeros || count <= u64::from(OPTIMAL_TRANSFER_BLOCKS) { LockMode::Write } else { LockMode::Update };
    let _blocks = call.unit().extents.lock(class, &[extent]).await;
    if zeros {
        call.check_step()?;
        call.unit().device().zero(extent, Durability::AsConfigured).await?;
        call.charge(call.volume(), 1, Moved::NOTHING);
    } else {
        write_pattern(call, extent, &payload).await?;
    }
    let bytes = count * BLOCK;
    Ok(Reply::took(payload_bytes).offloaded(OffloadWork {
        bytes,
        host_bytes_avoided: bytes.saturating_sub(payload_bytes),
        ..OffloadWork::default()
    }))
}

/// Writes `block` over the extent, at most 1 MiB per call. Blocks written before a step is refused
/// stay.
async fn write_pattern<D: BlockDevice>(call: &Invocation<'_, D>, extent: Extent, block: &Bytes) -> Result<(), Fault> {
    let chunk_blocks = extent.count.min(u64::from(OPTIMAL_TRANSFER_BLOCKS));
    let _room = call.working_room(chunk_blocks).await;
    let repeated = Bytes::from(block.repeat(usize::try_from(chunk_blocks).unwrap_or(1)));
    let device = call.unit().device();
    let mut done = 0;
    while done < extent.count {
        call.check_step()?;
        let count = (extent.count - done).min(chunk_blocks);
        let bytes = usize::try_from(count * BLOCK).unwrap_or(usize::MAX).min(repeated.len());
        let part = Extent::new(extent.lba.0 + done, count);
        device.write(part, repeated.slice(..bytes), Durability::AsConfigured).await?;
        call.charge(call.volume(), 1, Moved::written(count * BLOCK));
        done += count;
    }
    Ok(())
}
