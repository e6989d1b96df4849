//! RECEIVE COPY STATUS (LID1), RECEIVE COPY OPERATING PARAMETERS and RECEIVE COPY FAILURE DETAILS (LID1) (84h/00h, /03h, /04h),
//! SPC-4 §6.17 to §6.20; SPC-3 called them RECEIVE COPY RESULTS.

use crate::command::{Access, Command, DataDirection, Medium, Operation, UnitAttention};
use crate::invocation::{Invocation, Reply};
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::opcode::service_action;
use scsi::third_party_copy;

pub(super) const STATUS: Command = Command {
    name: "RECEIVE COPY STATUS (LID1)",
    operation: Operation::ReceiveCopyStatus,
    opcode: scsi::opcode::THIRD_PARTY_COPY_IN,
    service_action: Some(service_action::RECEIVE_COPY_STATUS_LID1),
    cdb_usage: &hex!("84 00 ff 00000000000000 ffffffff 00 00"),
    data: DataDirection::In,
    access: Access::Control,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    offload: None,
};

pub(super) const OPERATING_PARAMETERS: Command = Command {
    name: "RECEIVE COPY OPERATING PARAMETERS",
    operation: Operation::ReceiveCopyOperatingParameters,
    service_action: Some(service_action::RECEIVE_COPY_OPERATING_PARAMETERS),
    cdb_usage: &hex!("84 03 ff 00000000000000 ffffffff 00 00"),
    ..STATUS
};

pub(super) const FAILURE_DETAILS: Command = Command {
    name: "RECEIVE COPY FAILURE DETAILS (LID1)",
    operation: Operation::ReceiveCopyFailureDetails,
    service_action: Some(service_action::RECEIVE_COPY_FAILURE_DETAILS_LID1),
    cdb_usage: &hex!("84 04 ff 00000000000000 ffffffff 00 00"),
    ..STATUS
};

const LIST_ID_AT: FieldPointer = FieldPointer::cdb(2);

/// How far the copy with this list identifier is, or how it ended.
pub(super) fn status<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let record = call.nexus.copies.get(call.cdb.byte::<2>()).ok_or(Fault::InvalidFieldInCdb(LIST_ID_AT))?;
    let data = third_party_copy::copy_status(record.status.get(), record.segments.get(), record.bytes.get());
    Ok(Reply::parameter_data(data, call.cdb.be32::<10>()))
}

/// Limits of the copy manager. The list identifier is ignored.
pub(super) fn operating_parameters<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    Ok(Reply::parameter_data(call.target.limits.copy.encode(), call.cdb.be32::<10>()))
}

/// Sense data of a copy that failed; once returned it is discarded.
pub(super) fn failure_details<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let list_id = call.cdb.byte::<2>();
    let record = call.nexus.copies.get(list_id).ok_or(Fault::InvalidFieldInCdb(LIST_ID_AT))?;
    let data = match &*record.failure.borrow() {
        Some((status, sense)) => third_party_copy::failure_details(*status, sense),
        None => return Err(Fault::InvalidFieldInCdb(LIST_ID_AT)),
    };
    call.nexus.copies.discard(list_id);
    Ok(Reply::parameter_data(data, call.cdb.be32::<10>()))
}
