//! UNMAP (42h), SBC-3 §5.28.

use crate::blocks::BLOCK;
use crate::charges::Moved;
use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, Extent};
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::provisioning::{UnmapBlockDescriptor, UnmapParameterListHeader};
use unit::LockMode;
use unit::{AccessState, ReservationClass};
use unit::{OffloadWork, Primitive, Reason};
use zerocopy::FromBytes;

pub(super) const COMMAND: Command = Command {
    name: "UNMAP",
    opcode: scsi::opcode::UNMAP,
    service_action: None,
    cdb_usage: &hex!("42 00 00000000 3f ffff 00"), // ANCHOR is refused: ANC_SUP is 0
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
    limit_blocks: None,
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
    offload: Some(Primitive::Unmap),
};

/// PARAMETER LIST LENGTH.
fn data_out_bytes(query: &DataOutQuery<'_>) -> u64 {
    u64::from(query.cdb.be16::<7>())
}

/// Deallocates ranges; every block of them reads as zeros afterwards.
///
/// * A parameter list of 0 bytes, no descriptors, and descriptors of 0 blocks are successes that do nothing.
/// * All descriptors are checked before the first takes effect.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let length = u64::from(call.cdb.be16::<7>());
    if length == 0 {
        return Ok(Reply::good());
    }
    let list = call.parameter_list(length)?;
    let (header, rest) = UnmapParameterListHeader::read_from_prefix(&list)
        .map_err(|_| Fault::ParameterListLength { given_bytes: length, needed_bytes: 8 })?;
    let descriptor_bytes = usize::from(header.block_descriptor_data_length.get()) / 16 * 16;
    let descriptors = rest
        .get(..descriptor_bytes)
        .and_then(|bytes| <[UnmapBlockDescriptor]>::ref_from_bytes(bytes).ok())
        .ok_or(Fault::ParameterListLength { given_bytes: length, needed_bytes: 8 + descriptor_bytes as u64 })?;

    let limits = call.target.limits();
    let count = descriptors.len() as u64;
    if count > u64::from(limits.unmap_descriptors) {
        let at = FieldPointer::parameter_list(2);
        return Err(Fault::AboveLimit { requested: count, limit: u64::from(limits.unmap_descriptors), at });
    }
    let blocks: u64 = descriptors.iter().map(|descriptor| u64::from(descriptor.block_count.get())).sum();
    if blocks > u64::from(limits.unmap_blocks) {
        let at = FieldPointer::parameter_list(16);
        return Err(Fault::AboveLimit { requested: blocks, limit: u64::from(limits.unmap_blocks), at });
    }
    let mut extents = Vec::with_capacity(descriptors.len());
    let unit_blocks = call.unit().device().limits().mapping_unit_blocks;
    let mut whole_units = 0;
    for descriptor in descriptors {
        let extent = call.logical_unit.checked_range(descriptor.lba.get(), u64::from(descriptor.block_count.get()))?;
        if extent.count > 0 {
            whole_units += whole_unit_blocks(extent, unit_blocks);
            extents.push(extent);
        }
    }
    if !extents.is_empty() {
        let _blocks = call.unit().extents.lock(LockMode::Write, &extents).await;
        call.unit().device().unmap(&extents).await?;
        call.charge(call.volume(), extents.len() as u64, Moved::NOTHING);
    }
    let not_offloaded = (blocks > 0 && whole_units == 0)
        .then(|| (Reason::BelowGrain, format!("{} ranges, {blocks} blocks in all", extents.len())));
    Ok(Reply::took(length).offloaded(OffloadWork {
        bytes: blocks * BLOCK,
        deallocated_bytes: whole_units * BLOCK,
        unaligned_bytes: blocks.saturating_sub(whole_units) * BLOCK,
        not_offloaded,
        ..OffloadWork::default()
    }))
}

/// Blocks of the extent that lie in mapping units which the extent covers completely.
fn whole_unit_blocks(extent: Extent, unit_blocks: u64) -> u64 {
    let first = extent.lba.0.next_multiple_of(unit_blocks);
    let end = (extent.lba.0 + extent.count) / unit_blocks * unit_blocks;
    end.saturating_sub(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_units_leave_the_edges_out() {
        assert_eq!(whole_unit_blocks(Extent::new(0, 7), 8), 0);
        assert_eq!(whole_unit_blocks(Extent::new(7, 10), 8), 8);
        assert_eq!(whole_unit_blocks(Extent::new(8, 16), 8), 16);
        assert_eq!(whole_unit_blocks(Extent::new(9, 6), 8), 0);
    }
}
