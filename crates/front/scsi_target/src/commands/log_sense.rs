//! LOG SENSE (4Dh), SPC-4 §6.8: free space of the pool and space that the volume uses.

use crate::blocks::BLOCK;
use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::inquiry::THRESHOLD_EXPONENT;
use scsi::log::{self, ResourceCount, Scope};
use unit::{AccessState, ReservationClass};
use zerocopy::IntoBytes;

// Byte 1: PPC and SP are refused, because no parameter is saved. PAGE CONTROL may have any value:
// only current values exist.
pub(super) const COMMAND: Command = Command {
    name: "LOG SENSE",
    opcode: scsi::opcode::LOG_SENSE,
    service_action: None,
    cdb_usage: &hex!("4d 00 ff ff 00 ffff ffff 00"),
    data: DataDirection::In,
    limit_blocks: None,
    reservation_class: ReservationClass::Always,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::Standby,
    while_sanitizing: true,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

/// Supported pages, ascending. No page has subpages.
const PAGES: [u8; 3] = [log::SUPPORTED_PAGES, log::LOGICAL_BLOCK_PROVISIONING, log::INFORMATIONAL_EXCEPTIONS];

/// Returns a page, starting at the parameter pointer.
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    const PARAMETER_POINTER_AT: FieldPointer = FieldPointer::cdb(5);
    let page_code = call.cdb.byte::<2>() & 0x3f;
    let pointer = call.cdb.be16::<5>();
    let allocation_length = call.cdb.be16::<7>();
    let known = PAGES.contains(&page_code);
    if !known {
        return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(2, 5)));
    }
    let data = match (page_code, call.cdb.byte::<3>()) {
        (
            log::SUPPORTED_PAGES | log::LOGICAL_BLOCK_PROVISIONING | log::INFORMATIONAL_EXCEPTIONS,
            log::SUPPORTED_SUBPAGES,
        ) => {
            let of_page = |page: &&u8| page_code == log::SUPPORTED_PAGES || **page == page_code;
            let payload: Vec<u8> =
                PAGES.iter().filter(of_page).flat_map(|page| [*page, 0, *page, log::SUPPORTED_SUBPAGES]).collect();
            list(log::subpage(page_code, log::SUPPORTED_SUBPAGES, &payload), pointer)?
        }
        (log::SUPPORTED_PAGES, 0) => list(log::page(page_code, &PAGES), pointer)?,
        (log::INFORMATIONAL_EXCEPTIONS, 0) if pointer == 0 => log::page(page_code, &log::NO_INFORMATIONAL_EXCEPTION),
        (log::LOGICAL_BLOCK_PROVISIONING, 0) if pointer <= log::USED_LBA_MAPPING_RESOURCES => {
            let counts = provisioning(call).into_iter().filter(|count| count.parameter_code.get() >= pointer);
            log::page(page_code, counts.collect::<Vec<_>>().as_bytes())
        }
        (_, 0) => return Err(Fault::InvalidFieldInCdb(PARAMETER_POINTER_AT)),
        _ => return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb(3))),
    };
    Ok(Reply::parameter_data(data, allocation_length))
}

/// Checks the parameter pointer of a page without parameters: only 0 is valid.
fn list(page: Vec<u8>, pointer: u16) -> Result<Vec<u8>, Fault> {
    match pointer {
        0 => Ok(page),
        _ => Err(Fault::InvalidFieldInCdb(FieldPointer::cdb(5))),
    }
}

fn provisioning<D: BlockDevice>(call: &Invocation<'_, D>) -> [ResourceCount; 2] {
    let resources = call.unit().device().mapping_resources();
    let set_bytes = BLOCK << THRESHOLD_EXPONENT;
    let sets = |sets: u64| u32::try_from(sets).unwrap_or(u32::MAX);
    // Available resources are rounded down so that they are never overstated; used ones are rounded
    // up.
    let available = sets(resources.available_bytes / set_bytes);
    let used = sets(resources.used_bytes.div_ceil(set_bytes));
    [
        ResourceCount::new(log::AVAILABLE_LBA_MAPPING_RESOURCES, available, Scope::Shared),
        ResourceCount::new(log::USED_LBA_MAPPING_RESOURCES, used, Scope::Dedicated),
    ]
}
