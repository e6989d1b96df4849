//! MODE SELECT (15h, 55h), SPC-4 §6.11 and §6.12. Two bits can be changed: SWP of the control page,
//! and SITUA of the logical block provisioning page, whose thresholds only the administrator sets.
//! WCE of the caching page can be changed by the administrator only: a host that could set it would
//! make the writes of every other host volatile.

use super::mode_sense;
use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, LOGICAL_BLOCK_BYTES};
use hex_literal::hex;
use scsi::mode::{self, BlockDescriptor, ModeParameterHeader6, ModeParameterHeader10, PageControl};
use scsi::{AdditionalSense, Cdb, FieldPointer};
use unit::{AccessState, ReservationClass};
use zerocopy::FromBytes;

pub(super) const MODE_SELECT_6: Command = Command {
    name: "MODE SELECT (6)",
    opcode: scsi::opcode::MODE_SELECT_6,
    service_action: None,
    cdb_usage: &hex!("15 10 0000 ff 00"), // SP is refused: nothing can be saved
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
    limit_blocks: None,
    reservation_class: ReservationClass::Write,
    harmless: None,
    awaited: true,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::Standby,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

pub(super) const MODE_SELECT_10: Command = Command {
    name: "MODE SELECT (10)",
    opcode: scsi::opcode::MODE_SELECT_10,
    cdb_usage: &hex!("55 10 0000000000 ffff 00"),
    ..MODE_SELECT_6
};

/// PARAMETER LIST LENGTH.
fn parameter_list_length(command: &Command, cdb: &Cdb) -> u64 {
    if command.cdb_usage.len() == 6 { u64::from(cdb.byte::<4>()) } else { u64::from(cdb.be16::<7>()) }
}

fn data_out_bytes(query: &DataOutQuery<'_>) -> u64 {
    parameter_list_length(query.command, query.cdb)
}

/// Changes that a valid parameter list requests.
#[derive(Default)]
struct Changes {
    software_write_protect: Option<bool>,
    single_initiator_threshold: Option<bool>,
}

/// Changes mode parameters. The whole list is checked first; a change raises a unit attention on
/// every other nexus.
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let length = parameter_list_length(call.command, &call.cdb);
    if length == 0 {
        return Ok(Reply::good());
    }
    let list = call.parameter_list(length)?;
    let changes = parse(call, &list)?;
    let protect =
        changes.software_write_protect.filter(|protect| *protect != call.logical_unit.software_write_protect());
    let single =
        changes.single_initiator_threshold.filter(|single| *single != call.logical_unit.single_initiator_threshold());
    if let Some(protect) = protect {
        call.logical_unit.set_software_write_protect(protect);
    }
    if let Some(single) = single {
        call.logical_unit.set_single_initiator_threshold(single);
    }
    if protect.is_some() || single.is_some() {
        let this = call.nexus.id;
        call.target.raise_where(call.volume(), AdditionalSense::MODE_PARAMETERS_CHANGED, |nexus| nexus != this);
    }
    Ok(Reply::took(length))
}

fn parse<D: BlockDevice>(call: &Invocation<'_, D>, list: &[u8]) -> Result<Changes, Fault> {
    let short =
        |needed: usize| Fault::ParameterListLength { given_bytes: list.len() as u64, needed_bytes: needed as u64 };
    // Header: the mode data length is reserved, medium type and WP are ignored.
    let (mut at, descriptor_length) = if call.command.cdb_usage.len() == 6 {
        let (header, _) = ModeParameterHeader6::read_from_prefix(list).map_err(|_| short(4))?;
        (4, usize::from(header.block_descriptor_length))
    } else {
        let (header, _) = ModeParameterHeader10::read_from_prefix(list).map_err(|_| short(8))?;
        if header.flags & 0x01 != 0 {
            return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(4)));
        }
        (8, usize::from(header.block_descriptor_length.get()))
    };
    if descriptor_length != 0 {
        if descriptor_length != size_of::<BlockDescriptor>() {
            let length_at = if at == 4 { 3 } else { 6 };
            return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(length_at)));
        }
        let bytes = list.get(at..at + descriptor_length).ok_or(short(at + descriptor_length))?;
        let descriptor = BlockDescriptor::read_from_bytes(bytes).map_err(|_| short(at + descriptor_length))?;
        check_block_descriptor(call, &descriptor, at)?;
        at += descriptor_length;
    }
    let mut changes = Changes::default();
    while at < list.len() {
        let page = list.get(at..).unwrap_or_default();
        let [page_code, second, ..] = page else { return Err(short(at + 2)) };
        let code = page_code & 0x3f;
        // Page and subpage, byte of the length field, and bytes of header and page.
        let (code, length_at, length) = if page_code & mode::SPF == 0 {
            ((code, 0), 1, 2 + usize::from(*second))
        } else {
            let [_, _, high, low, ..] = page else { return Err(short(at + 4)) };
            ((code, *second), 2, 4 + usize::from(u16::from_be_bytes([*high, *low])))
        };
        let exists = page_code & mode::SPF == 0 || code.1 != 0;
        let current = mode_sense::page(call, code, PageControl::Current).filter(|_| exists);
        let changeable = mode_sense::page(call, code, PageControl::Changeable);
        let (Some(current), Some(changeable)) = (current, changeable) else {
            return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at)));
        };
        if length != current.len() {
            return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at + length_at)));
        }
        let new = page.get(..length).ok_or(short(at + length))?;
        for (offset, ((new, current), changeable)) in new.iter().zip(&current).zip(&changeable).enumerate().skip(2) {
            if (new ^ current) & !changeable != 0 {
                return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at + offset)));
            }
        }
        match code {
            (mode::CONTROL, 0) => {
                changes.software_write_protect = new.get(4).map(|flags| flags & mode::SWP != 0);
            }
            (mode::INFORMATIONAL_EXCEPTIONS_CONTROL, mode::LOGICAL_BLOCK_PROVISIONING_SUBPAGE) => {
                changes.single_initiator_threshold = new.get(4).map(|flags| flags & mode::SITUA != 0);
            }
            _ => {}
        }
        at += length;
    }
    Ok(changes)
}

/// Checks the block descriptor. It may only repeat the current values or leave them open: neither
/// capacity nor block length can be changed.
fn check_block_descriptor<D: BlockDevice>(
    call: &Invocation<'_, D>,
    descriptor: &BlockDescriptor,
    at: usize,
) -> Result<(), Fault> {
    let blocks = u32::try_from(call.unit().block_count()).unwrap_or(u32::MAX);
    let count = descriptor.block_count.get();
    if count != 0 && count != u32::MAX && count != blocks {
        return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at)));
    }
    if !matches!(descriptor.block_length.get() & 0x00ff_ffff, 0 | LOGICAL_BLOCK_BYTES) {
        return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at + 5)));
    }
    Ok(())
}
