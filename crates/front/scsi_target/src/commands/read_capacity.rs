//! READ CAPACITY (25h, 9Eh/10h), SBC-3 §5.15 and §5.16.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::observed::Seen;
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, LOGICAL_BLOCK_BYTES};
use hex_literal::hex;
use scsi::capacity::{LBPME, LBPRZ, ReadCapacity10, ReadCapacity16};
use scsi::opcode::service_action;
use unit::{AccessState, ReservationClass};
use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromZeros, IntoBytes};

pub(super) const READ_CAPACITY_10: Command = Command {
    name: "READ CAPACITY (10)",
    opcode: scsi::opcode::READ_CAPACITY_10,
    service_action: None,
    cdb_usage: &hex!("25 00 00000000 0000 00 00"), // LBA and PMI are obsolete
    data: DataDirection::In,
    limit_blocks: None,
    reservation_class: ReservationClass::Always,
    harmless: None,
    awaited: false,
    medium: Medium::Present,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::Unavailable,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

pub(super) const READ_CAPACITY_16: Command = Command {
    name: "READ CAPACITY (16)",
    opcode: scsi::opcode::SERVICE_ACTION_IN_16,
    service_action: Some(service_action::READ_CAPACITY_16),
    cdb_usage: &hex!("9e 10 0000000000000000 ffffffff 00 00"),
    ..READ_CAPACITY_10
};

/// Returns last LBA and block length; FFFFFFFFh directs the initiator to the 16-byte command.
pub(super) fn execute_10<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    call.looked(Seen::CAPACITY);
    let last_lba = call.unit().block_count().saturating_sub(1);
    let data = ReadCapacity10 {
        last_lba: U32::new(u32::try_from(last_lba).unwrap_or(u32::MAX)),
        block_length: U32::new(LOGICAL_BLOCK_BYTES),
    };
    Ok(Reply::parameter_data(data.as_bytes().to_vec(), 8u16))
}

/// Returns last LBA and block length, the physical block exponent, and LBPME and LBPRZ: the logical
/// unit is thin, and deallocated blocks read as zeros.
pub(super) fn execute_16<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    call.looked(Seen::CAPACITY);
    let mut data = ReadCapacity16::new_zeroed();
    data.last_lba = U64::new(call.unit().block_count().saturating_sub(1));
    data.block_length = U32::new(LOGICAL_BLOCK_BYTES);
    data.exponents = call.logical_unit.profile.physical_block_exponent & 0x0f;
    data.provisioning = LBPME | LBPRZ;
    Ok(Reply::parameter_data(data.as_bytes().to_vec(), call.cdb.be32::<10>()))
}
