//! REQUEST SENSE (03h), SPC-4 §6.39. Sense data is returned with the status that it belongs to, so
//! little is left for this command.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::{self, Fault};
use block::BlockDevice;
use hex_literal::hex;
use scsi::{AdditionalSense, Cdb, FixedSense, SenseKey};
use unit::{AccessState, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "REQUEST SENSE",
    opcode: scsi::opcode::REQUEST_SENSE,
    service_action: None,
    cdb_usage: &hex!("03 00 0000 ff 00"), // DESC is refused: sense data has fixed format
    data: DataDirection::In,
    limit_blocks: None,
    reservation_class: ReservationClass::Always,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Kept,
    works_down_to: AccessState::Transitioning,
    while_sanitizing: true,
    without_unit: WithoutUnit::Answered(without_logical_unit),
    exists: Exists::Always,
    io: None,
    offload: None,
};

/// Returns NO SENSE, or that the medium is ejected. Unit attentions stay pending (SAM-5 §5.14.3
/// permits this).
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let data = match call.logical_unit.check_present() {
        Ok(()) => FixedSense::new(SenseKey::NO_SENSE, AdditionalSense::NO_ADDITIONAL_SENSE_INFORMATION).encode(),
        Err(fault) => sense::outcome(&fault).sense_bytes(),
    };
    Ok(Reply::parameter_data(data, call.cdb.byte::<4>()))
}

/// Response where there is no logical unit: LOGICAL UNIT NOT SUPPORTED as parameter data, with GOOD
/// status.
fn without_logical_unit(cdb: &Cdb) -> Result<Reply, Fault> {
    let data = sense::outcome(&Fault::LogicalUnitNotSupported).sense_bytes();
    Ok(Reply::parameter_data(data, cdb.byte::<4>()))
}
