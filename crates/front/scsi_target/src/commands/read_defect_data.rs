//! READ DEFECT DATA (37h, B7h), SBC-3 §5.17 and §5.18. A volume has no medium defects: the lists
//! are empty in every format.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::{FieldPointer, defect};
use unit::{AccessState, ReservationClass};

pub(super) const READ_DEFECT_DATA_10: Command = Command {
    name: "READ DEFECT DATA (10)",
    opcode: scsi::opcode::READ_DEFECT_DATA_10,
    service_action: None,
    cdb_usage: &hex!("37 00 1f 00000000 ffff 00"),
    data: DataDirection::In,
    limit_blocks: None,
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

pub(super) const READ_DEFECT_DATA_12: Command = Command {
    name: "READ DEFECT DATA (12)",
    opcode: scsi::opcode::READ_DEFECT_DATA_12,
    cdb_usage: &hex!("b7 1f ffffffff ffffffff 00 00"),
    ..READ_DEFECT_DATA_10
};

/// Returns an empty list with the requested format bits. An ADDRESS DESCRIPTOR INDEX beyond the
/// list is refused.
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    if call.command.cdb_usage.len() == 10 {
        return Ok(Reply::parameter_data(defect::empty_list_10(call.cdb.byte::<2>()), call.cdb.be16::<7>()));
    }
    if call.cdb.be32::<2>() > 0 {
        return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb(2)));
    }
    Ok(Reply::parameter_data(defect::empty_list_12(call.cdb.byte::<1>()), call.cdb.be32::<6>()))
}
