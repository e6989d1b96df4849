//! RECEIVE COPY STATUS, RECEIVE COPY DATA, RECEIVE COPY OPERATING PARAMETERS and RECEIVE COPY
//! FAILURE DETAILS (84h/00h to /06h), SPC-4 §6.17 to §6.22; SPC-3 called them RECEIVE COPY RESULTS.
//! Status and data have two forms, for list identifiers of one byte (LID1) and of four (LID4).

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::copies::CopyRecord;
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::opcode::service_action;
use scsi::third_party_copy;
use std::rc::Rc;
use unit::{AccessState, ReservationClass};

pub(super) const STATUS_LID1: Command = Command {
    name: "RECEIVE COPY STATUS (LID1)",
    opcode: scsi::opcode::THIRD_PARTY_COPY_IN,
    service_action: Some(service_action::RECEIVE_COPY_STATUS_LID1),
    cdb_usage: &hex!("84 00 ff 00000000000000 ffffffff 00 00"),
    data: DataDirection::In,
    limit_blocks: None,
    reservation_class: ReservationClass::Control,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::ActiveNonOptimized,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

pub(super) const DATA_LID1: Command = Command {
    name: "RECEIVE COPY DATA (LID1)",
    service_action: Some(service_action::RECEIVE_COPY_DATA_LID1),
    cdb_usage: &hex!("84 01 ff 00000000000000 ffffffff 00 00"),
    ..STATUS_LID1
};

pub(super) const OPERATING_PARAMETERS: Command = Command {
    name: "RECEIVE COPY OPERATING PARAMETERS",
    service_action: Some(service_action::RECEIVE_COPY_OPERATING_PARAMETERS),
    cdb_usage: &hex!("84 03 ff 00000000000000 ffffffff 00 00"),
    ..STATUS_LID1
};

pub(super) const FAILURE_DETAILS: Command = Command {
    name: "RECEIVE COPY FAILURE DETAILS (LID1)",
    service_action: Some(service_action::RECEIVE_COPY_FAILURE_DETAILS_LID1),
    cdb_usage: &hex!("84 04 ff 00000000000000 ffffffff 00 00"),
    ..STATUS_LID1
};

pub(super) const STATUS_LID4: Command = Command {
    name: "RECEIVE COPY STATUS (LID4)",
    service_action: Some(service_action::RECEIVE_COPY_STATUS_LID4),
    cdb_usage: &hex!("84 05 ffffffff 00000000 ffffffff 00 00"),
    ..STATUS_LID1
};

pub(super) const DATA_LID4: Command = Command {
    name: "RECEIVE COPY DATA (LID4)",
    service_action: Some(service_action::RECEIVE_COPY_DATA_LID4),
    cdb_usage: &hex!("84 06 ffffffff 00000000 ffffffff 00 00"),
    ..STATUS_LID4
};

const LIST_ID_AT: FieldPointer = FieldPointer::cdb(2);

/// Whether the list identifier has four bytes.
fn is_lid4<D>(call: &Invocation<'_, D>) -> bool {
    matches!(
        call.command.service_action,
        Some(service_action::RECEIVE_COPY_STATUS_LID4 | service_action::RECEIVE_COPY_DATA_LID4)
    )
}

fn record<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<(u32, Rc<CopyRecord>), Fault> {
    let list_id = if is_lid4(call) { call.cdb.be32::<2>() } else { u32::from(call.cdb.byte::<2>()) };
    let record = call.nexus.copies.get(list_id).ok_or(Fault::InvalidFieldInCdb(LIST_ID_AT))?;
    Ok((list_id, record))
}

/// Returns progress or result of the copy with this list identifier.
pub(super) fn status_lid1<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    Ok(Reply::parameter_data(record(call)?.1.status_lid1(), call.cdb.be32::<10>()))
}

/// Returns progress or result, with the sense data of a copy that failed.
pub(super) fn status_lid4<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    Ok(Reply::parameter_data(record(call)?.1.information(&[]), call.cdb.be32::<10>()))
}

/// Whether the initiator receives all of `data`: results are discarded only then, so truncated ones
/// can be requested again.
fn is_returned<D>(call: &Invocation<'_, D>, data: &[u8]) -> bool {
    let room = call.cdb.be32::<10>().min(call.request.expected_data_in);
    data.len() as u64 <= u64::from(room)
}

/// Returns the held data of a copy that has ended, and discards it.
pub(super) fn data<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let (_, record) = record(call)?;
    let held = record.held().ok_or(Fault::InvalidFieldInCdb(LIST_ID_AT))?;
    let data = third_party_copy::copy_data(&held);
    let data = if is_lid4(call) { record.information(&data) } else { data };
    if is_returned(call, &data) {
        record.discard_held();
    }
    Ok(Reply::parameter_data(data, call.cdb.be32::<10>()))
}

/// Returns the limits of the copy manager. The list identifier is ignored.
pub(super) fn operating_parameters<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    Ok(Reply::parameter_data(call.target.limits().copy.encode(), call.cdb.be32::<10>()))
}

/// Returns the sense data of a copy that failed, and discards it.
pub(super) fn failure_details<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let (list_id, record) = record(call)?;
    let (status, sense) = record.failure().ok_or(Fault::InvalidFieldInCdb(LIST_ID_AT))?;
    let data = third_party_copy::failure_details(status, &sense);
    if is_returned(call, &data) {
        call.nexus.copies.discard(list_id);
    }
    Ok(Reply::parameter_data(data, call.cdb.be32::<10>()))
}
