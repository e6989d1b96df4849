//! VERIFY (2Fh, AFh, 8Fh), SBC-3 §5.29 and §5.30.

use crate::blocks::{BLOCK, blocks_in};
use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::limits::{Limits, OPTIMAL_TRANSFER_BLOCKS};
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, Extent};
use hex_literal::hex;
use scsi::{Cdb, FieldPointer};
use unit::LockMode;
use unit::{AccessState, ReservationClass};

pub(super) const VERIFY_10: Command = Command {
    name: "VERIFY (10)",
    opcode: scsi::opcode::VERIFY_10,
    service_action: None,
    cdb_usage: &hex!("2f 16 ffffffff 3f ffff 00"),
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
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
    io: None,
    offload: None,
};

pub(super) const VERIFY_12: Command = Command {
    name: "VERIFY (12)",
    opcode: scsi::opcode::VERIFY_12,
    cdb_usage: &hex!("af 16 ffffffff ffffffff 3f 00"),
    ..VERIFY_10
};

pub(super) const VERIFY_16: Command = Command {
    name: "VERIFY (16)",
    opcode: scsi::opcode::VERIFY_16,
    cdb_usage: &hex!("8f 16 ffffffffffffffff ffffffff 3f 00"),
    ..VERIFY_10
};

/// BYTCHK: 00b reads the medium, 01b compares it with Data-Out, 11b compares each block with one block of Data-Out,
/// 10b is reserved.
fn byte_check(cdb: &Cdb) -> u8 {
    cdb.byte::<1>() >> 1 & 0b11
}

/// Bytes of Data-Out, by BYTCHK.
fn data_out_bytes(query: &DataOutQuery<'_>) -> u64 {
    match byte_check(query.cdb) {
        0b01 => query.range_bytes(),
        0b11 => query.range_bytes().min(BLOCK),
        _ => 0,
    }
}

/// Verifies the blocks, at most 1 MiB in memory at a time.
///
/// * `Fault::Miscompare`: offset in bytes of the first difference from the first block.
/// * When the initiator announces less Data-Out than BYTCHK = 01b needs, only the blocks that it
///   sends are compared.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let extent = call.checked_extent(call.range())?;
    let (data, needed_bytes, blocks) = match byte_check(&call.cdb) {
        0b00 => (None, 0, extent.count),
        0b01 => {
            let needed_bytes = extent.count * BLOCK;
            let data = call.block_data_out(needed_bytes)?;
            let blocks = blocks_in(&data);
            (Some(data), needed_bytes, blocks)
        }
        0b11 if extent.count == 0 => (None, 0, 0),
        0b11 => (Some(call.block_data_out(BLOCK)?), BLOCK, extent.count),
        _ => return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(1, 2))),
    };
    let every_block_same = byte_check(&call.cdb) == 0b11;
    let class = if blocks <= u64::from(OPTIMAL_TRANSFER_BLOCKS) { LockMode::Read } else { LockMode::Scan };
    let _blocks = call.unit().extents.lock(class, &[Extent::new(extent.lba.0, blocks)]).await;
    let device = call.unit().device();
    let mut done = 0;
    while done < blocks {
        let count = (blocks - done).min(u64::from(OPTIMAL_TRANSFER_BLOCKS));
        let _room = call.working_room(count).await;
        let medium = device.read(Extent::new(extent.lba.0 + done, count)).await?;
        if let Some(data) = &data {
            let offset_bytes = done * BLOCK;
            if every_block_same {
                compare_repeated(&medium, data).map_err(|fault| shifted(fault, offset_bytes))?;
            } else {
                compare_from(&medium, data, offset_bytes)?;
            }
        }
        done += count;
    }
    Ok(Reply::took(needed_bytes))
}

/// Compares `medium` with the expected data from `offset_bytes` of `data` on.
pub(super) fn compare_from(medium: &[u8], data: &[u8], offset_bytes: u64) -> Result<(), Fault> {
    let start = usize::try_from(offset_bytes).unwrap_or(usize::MAX).min(data.len());
    let end = start.saturating_add(medium.len()).min(data.len());
    compare(medium, data.get(start..end).unwrap_or_default()).map_err(|fault| shifted(fault, offset_bytes))
}

/// Compares the medium with expected data of the same length.
fn compare(medium: &[u8], expected: &[u8]) -> Result<(), Fault> {
    if medium == expected {
        return Ok(());
    }
    let common = medium.len().min(expected.len());
    let at = medium.iter().zip(expected).position(|(found, wanted)| found != wanted).unwrap_or(common);
    Err(Fault::Miscompare { offset_bytes: at as u64 })
}

/// Compares every block of `medium` with the one block `expected`.
fn compare_repeated(medium: &[u8], expected: &[u8]) -> Result<(), Fault> {
    for (index, block) in (0u64..).zip(medium.chunks(expected.len().max(1))) {
        compare(block, expected).map_err(|fault| shifted(fault, index * BLOCK))?;
    }
    Ok(())
}

fn shifted(fault: Fault, by_bytes: u64) -> Fault {
    match fault {
        Fault::Miscompare { offset_bytes } => Fault::Miscompare { offset_bytes: offset_bytes + by_bytes },
        other => other,
    }
}
