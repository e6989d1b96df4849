//! WRITE AND VERIFY (2Eh, AEh, 8Eh), SBC-3 §5.35 to §5.37.

use crate::blocks::{BLOCK, blocks_in};
use crate::command::{Command, DataDirection, DataOut, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::limits::{Limits, OPTIMAL_TRANSFER_BLOCKS};
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, Durability, Extent};
use hex_literal::hex;
use unit::LockMode;
use unit::{AccessState, Io, ReservationClass};

pub(super) const WRITE_AND_VERIFY_10: Command = Command {
    name: "WRITE AND VERIFY (10)",
    opcode: scsi::opcode::WRITE_AND_VERIFY_10,
    service_action: None,
    cdb_usage: &hex!("2e 12 ffffffff 3f ffff 00"),
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

pub(super) const WRITE_AND_VERIFY_12: Command = Command {
    name: "WRITE AND VERIFY (12)",
    opcode: scsi::opcode::WRITE_AND_VERIFY_12,
    cdb_usage: &hex!("ae 12 ffffffff ffffffff 3f 00"),
    ..WRITE_AND_VERIFY_10
};

pub(super) const WRITE_AND_VERIFY_16: Command = Command {
    name: "WRITE AND VERIFY (16)",
    opcode: scsi::opcode::WRITE_AND_VERIFY_16,
    cdb_usage: &hex!("8e 12 ffffffffffffffff ffffffff 3f 00"),
    ..WRITE_AND_VERIFY_10
};

/// Stores Data-Out durably and reads it back; with BYTCHK = 01b compares it. BYTCHK values 10b and 11b are reserved:
/// bit 2 of byte 1 is not in the usage data.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let extent = call.checked_extent(call.range())?;
    let needed_bytes = extent.count * BLOCK;
    let data = call.block_data_out(needed_bytes)?;
    let stored = Extent { count: blocks_in(&data), ..extent };
    let stored_bytes = data.len() as u64;
    let _blocks = call.unit().extents.lock(LockMode::Update, &[stored]).await;
    let device = call.unit().device();
    device.write(stored, data.clone(), Durability::Forced).await?;
    let mut done = 0;
    while done < stored.count {
        let count = (stored.count - done).min(u64::from(OPTIMAL_TRANSFER_BLOCKS));
        let _room = call.working_room(count).await;
        let medium = device.read(Extent::new(stored.lba.0 + done, count)).await?;
        if call.cdb.bit::<1>(0x02) {
            super::verify::compare_from(&medium, &data, done * BLOCK)?;
        }
        done += count;
    }
    call.unit().statistics.count_write(stored_bytes);
    Ok(Reply::took(needed_bytes))
}
