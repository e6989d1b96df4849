//! MODE SENSE (1Ah, 5Ah), SPC-4 §6.13 and §6.14.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, LOGICAL_BLOCK_BYTES};
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::mode::{self, BlockDescriptor, ModeParameterHeader6, ModeParameterHeader10, PageControl};
use unit::{AccessState, ReservationClass};
use zerocopy::IntoBytes;
use zerocopy::byteorder::big_endian::U32;

pub(super) const MODE_SENSE_6: Command = Command {
    name: "MODE SENSE (6)",
    opcode: scsi::opcode::MODE_SENSE_6,
    service_action: None,
    cdb_usage: &hex!("1a 08 ff ff ff 00"),
    data: DataDirection::In,
    limit_blocks: None,
    reservation_class: ReservationClass::Control,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::Unavailable,
    while_sanitizing: true,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

pub(super) const MODE_SENSE_10: Command = Command {
    name: "MODE SENSE (10)",
    opcode: scsi::opcode::MODE_SENSE_10,
    cdb_usage: &hex!("5a 18 ff ff 000000 ffff 00"),
    ..MODE_SENSE_6
};

/// Pages of this logical unit with their subpages, ascending.
const PAGES: [(u8, u8); 4] = [
    (mode::CACHING, 0),
    (mode::CONTROL, 0),
    (mode::INFORMATIONAL_EXCEPTIONS_CONTROL, 0),
    (mode::INFORMATIONAL_EXCEPTIONS_CONTROL, mode::LOGICAL_BLOCK_PROVISIONING_SUBPAGE),
];

/// Returns header, block descriptor (unless DBD) and pages. LLBAA permits a long block descriptor,
/// but the short one is returned.
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let control = PageControl::from_bits(call.cdb.byte::<2>() >> 6);
    if control == PageControl::Saved {
        return Err(Fault::SavingNotSupported);
    }
    let pages = pages(call, control)?;
    let descriptor = if call.cdb.bit::<1>(0x08) { Vec::new() } else { block_descriptor(call) };
    let device_specific = call.logical_unit.device_specific_parameter();
    let body_length = descriptor.len() + pages.len();
    let descriptor_length = descriptor.len();
    let (header, allocation_length) = if call.command.cdb_usage.len() == 6 {
        let header = ModeParameterHeader6 {
            data_length: u8::try_from(body_length + 3).unwrap_or(u8::MAX),
            medium_type: 0,
            device_specific,
            block_descriptor_length: u8::try_from(descriptor_length).unwrap_or(u8::MAX),
        };
        (header.as_bytes().to_vec(), u16::from(call.cdb.byte::<4>()))
    } else {
        let header = ModeParameterHeader10::new(
            u16::try_from(body_length + 6).unwrap_or(u16::MAX),
            device_specific,
            u16::try_from(descriptor_length).unwrap_or(u16::MAX),
        );
        (header.as_bytes().to_vec(), call.cdb.be16::<7>())
    };
    Ok(Reply::parameter_data([header, descriptor, pages].concat(), allocation_length))
}

fn pages<D: BlockDevice>(call: &Invocation<'_, D>, control: PageControl) -> Result<Vec<u8>, Fault> {
    let (page_code, subpage_code) = (call.cdb.byte::<2>() & 0x3f, call.cdb.byte::<3>());
    let of_page = |page: &(u8, u8)| page_code == mode::ALL_PAGES || page.0 == page_code;
    let of_subpage = |page: &(u8, u8)| subpage_code == mode::ALL_SUBPAGES || page.1 == subpage_code;
    if !PAGES.iter().any(of_page) {
        return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(2, 5)));
    }
    // "All pages" exists only with subpage 0 or with all subpages.
    let all_of_one = page_code == mode::ALL_PAGES && !matches!(subpage_code, 0 | mode::ALL_SUBPAGES);
    if all_of_one || !PAGES.iter().filter(|page| of_page(page)).any(of_subpage) {
        return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb(3)));
    }
    let wanted = PAGES.iter().filter(|page| of_page(page) && of_subpage(page));
    Ok(wanted.filter_map(|wanted| page(call, *wanted, control)).flatten().collect())
}

/// Bytes of a page or subpage; `None` when it does not exist.
pub(super) fn page<D: BlockDevice>(
    call: &Invocation<'_, D>,
    (page_code, subpage_code): (u8, u8),
    control: PageControl,
) -> Option<Vec<u8>> {
    match (page_code, subpage_code) {
        (mode::INFORMATIONAL_EXCEPTIONS_CONTROL, mode::LOGICAL_BLOCK_PROVISIONING_SUBPAGE) => {
            let thresholds = call.target.threshold_descriptors(call.volume());
            Some(call.logical_unit.provisioning_mode_page(control, &thresholds))
        }
        (_, 0) => call.logical_unit.mode_page(page_code, control),
        _ => None,
    }
}

/// Short LBA block descriptor: ESXi compares its block length with that of READ CAPACITY.
fn block_descriptor<D: BlockDevice>(call: &Invocation<'_, D>) -> Vec<u8> {
    let descriptor = BlockDescriptor {
        block_count: U32::new(u32::try_from(call.unit().block_count()).unwrap_or(u32::MAX)),
        block_length: U32::new(LOGICAL_BLOCK_BYTES),
    };
    descriptor.as_bytes().to_vec()
}
