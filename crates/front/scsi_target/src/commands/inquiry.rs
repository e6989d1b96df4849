//! INQUIRY (12h), SPC-4 §6.6: standard data and, with EVPD, vital product data pages.

mod vpd;

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::logical_unit::{PRODUCT, VENDOR};
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::inquiry::{NO_LOGICAL_UNIT, StandardInquiry, ascii_field};
use scsi::{Cdb, FieldPointer};
use unit::{AccessState, ReservationClass};
use zerocopy::IntoBytes;
use zerocopy::byteorder::big_endian::U16;

pub(super) const COMMAND: Command = Command {
    name: "INQUIRY",
    opcode: scsi::opcode::INQUIRY,
    service_action: None,
    cdb_usage: &hex!("12 01 ff ffff 00"),
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

/// SAM-5, SPC-4, SBC-3, iSCSI.
const VERSION_DESCRIPTORS: [u16; 4] = [0x00a0, 0x0460, 0x04c0, 0x0960];

/// PRODUCT REVISION LEVEL: major and minor version, since the field has four bytes.
const REVISION: &str = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
const _: () = assert!(REVISION.len() <= 4);

/// Returns the data, cut to the allocation length.
pub(super) fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let page_code = call.cdb.byte::<2>();
    let data = if call.cdb.bit::<1>(0x01) {
        let page = vpd::page(call, page_code)?;
        if let Some(seen) = vpd::seen(page_code) {
            call.looked(seen);
        }
        page
    } else if page_code != 0 {
        return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb(2)));
    } else {
        standard(call).as_bytes().to_vec()
    };
    Ok(Reply::parameter_data(data, call.cdb.be16::<3>()))
}

/// Response where there is no logical unit: peripheral qualifier 011b. VPD pages do not exist.
fn without_logical_unit(cdb: &Cdb) -> Result<Reply, Fault> {
    if cdb.bit::<1>(0x01) || cdb.byte::<2>() != 0 {
        return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb(2)));
    }
    let mut data = base();
    data.peripheral = NO_LOGICAL_UNIT;
    Ok(Reply::parameter_data(data.as_bytes().to_vec(), cdb.be16::<3>()))
}

/// Fields that every logical unit and the response without one share.
fn base() -> StandardInquiry {
    let mut data = StandardInquiry::empty();
    data.version = 0x06;
    data.flags7 = 0x02; // CMDQUE
    data.vendor = ascii_field(VENDOR);
    data.product = ascii_field(PRODUCT);
    data.revision = ascii_field(REVISION);
    for (slot, descriptor) in data.version_descriptors.iter_mut().zip(VERSION_DESCRIPTORS) {
        *slot = U16::new(descriptor);
    }
    data
}

fn standard<D: BlockDevice>(call: &Invocation<'_, D>) -> StandardInquiry {
    let mut data = base();
    data.removable = if call.logical_unit.profile.removable { 0x80 } else { 0 };
    let explicit = call.target.explicit_access();
    data.flags5 = if explicit { 0x30 } else { 0x10 } | 0x08; // TPGS: implicit, and perhaps explicit; 3PC
    data.flags6 = if call.target.identity().ports.len() > 1 { 0x10 } else { 0 }; // MULTIP
    data
}
