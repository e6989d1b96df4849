//! ORWRITE (8Bh), SBC-3 §5.7.

use crate::blocks::BLOCK;
use crate::command::{Command, DataDirection, DataOut, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::limits::Limits;
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, CompareOutcome, Durability, Extent};
use bytes::Bytes;
use hex_literal::hex;
use scsi::FieldPointer;
use unit::LockMode;
use unit::{AccessState, Io, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "ORWRITE (16)",
    opcode: scsi::opcode::ORWRITE_16,
    service_action: None,
    cdb_usage: &hex!("8b 18 ffffffffffffffff ffffffff 3f 00"),
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

/// Logical blocks that are read, combined and written in one step (64 KiB).
const STEP_BLOCKS: u64 = 128;

/// Stores the bitwise OR of the medium and Data-Out.
///
/// No other command changes the blocks meanwhile. A step writes only if the medium still holds the
/// data that was read, and starts again otherwise: a change that bypasses the commands (a return to
/// a snapshot) is not lost either. After a failure halfway the initiator can send the command again
/// without harm.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let range = call.range();
    let extent = call.checked_extent(range)?;
    let needed_bytes = extent.count * BLOCK;
    let data = call.exact_data_out(needed_bytes, FieldPointer::cdb(range.count_at))?;
    let durability = call.durability();
    let _blocks = call.unit().extents.lock(LockMode::Update, &[extent]).await;
    let step_bytes = usize::try_from(STEP_BLOCKS * BLOCK).unwrap_or(usize::MAX);
    for (step, given) in (0..).zip(data.chunks(step_bytes)) {
        let count = given.len() as u64 / BLOCK;
        combine(call, Extent::new(extent.lba.0 + step * STEP_BLOCKS, count), given, durability).await?;
    }
    let stored_bytes = data.len() as u64;
    call.unit().statistics.count_write(stored_bytes);
    Ok(Reply::took(needed_bytes))
}

async fn combine<D: BlockDevice>(
    call: &Invocation<'_, D>,
    extent: Extent,
    given: &[u8],
    durability: Durability,
) -> Result<(), Fault> {
    // Two buffers: the data read, and the combination.
    let _room = call.working_room(2 * extent.count).await;
    let device = call.unit().device();
    loop {
        let medium = device.read(extent).await?;
        call.check_step()?;
        let combined: Bytes = medium.iter().zip(given).map(|(medium, given)| medium | given).collect();
        match device.compare_and_write(extent, medium, combined, durability).await? {
            CompareOutcome::Written => return Ok(()),
            // The medium changed in between.
            CompareOutcome::Miscompare { .. } => {}
        }
    }
}
