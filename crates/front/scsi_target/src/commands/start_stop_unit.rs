//! START STOP UNIT (1Bh), SBC-3 §5.25.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::{AdditionalSense, FieldPointer};
use unit::{AccessState, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "START STOP UNIT",
    opcode: scsi::opcode::START_STOP_UNIT,
    service_action: None,
    cdb_usage: &hex!("1b 01 00 0f f7 00"),
    data: DataDirection::None,
    limit_blocks: None,
    reservation_class: ReservationClass::Control,
    harmless: Some(starts),
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

/// Starting, without a power condition, conflicts with no persistent reservation.
fn starts(cdb: &scsi::Cdb) -> bool {
    cdb.byte::<4>() & 0xf1 == 0x01
}

/// Loads or ejects the medium of a removable logical unit. Stopping flushes the write cache (unless
/// NO_FLUSH) and does nothing else: there is no spindle, and other initiators share the logical
/// unit. Power conditions are accepted and change nothing.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    const NO_FLUSH: u8 = 0x04;
    const LOEJ: u8 = 0x02;
    const START: u8 = 0x01;
    let start = call.cdb.bit::<4>(START);
    match call.cdb.byte::<4>() >> 4 {
        0x0 => {}
        0x1 | 0x2 | 0x3 | 0x7 | 0xa | 0xb => return Ok(Reply::good()),
        _ => return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(4, 7))),
    }
    let load_or_eject = call.cdb.bit::<4>(LOEJ);
    if load_or_eject && !call.logical_unit.profile.removable {
        return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(4, 1)));
    }
    if load_or_eject && call.logical_unit.is_removal_prevented() {
        return Err(Fault::MediumRemovalPrevented);
    }
    if !start && !call.cdb.bit::<4>(NO_FLUSH) {
        call.unit().device().flush().await?;
    }
    if load_or_eject {
        let loaded_before = call.logical_unit.is_loaded();
        call.logical_unit.set_loaded(start);
        if start && !loaded_before {
            let this = call.nexus.id;
            let attention = AdditionalSense::NOT_READY_TO_READY_CHANGE;
            call.target.raise_where(call.volume(), attention, |nexus| nexus != this);
        }
    }
    Ok(Reply::good())
}
