//! REPORT LUNS (A0h), SPC-4 §6.33.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::nexus::Nexus;
use crate::reply::Reply;
use crate::sense::Fault;
use hex_literal::hex;
use scsi::{AdditionalSense, Cdb, FieldPointer};
use unit::{AccessState, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "REPORT LUNS",
    opcode: scsi::opcode::REPORT_LUNS,
    service_action: None,
    cdb_usage: &hex!("a0 00 ff 000000 ffffffff 00 00"),
    data: DataDirection::In,
    limit_blocks: None,
    reservation_class: ReservationClass::Always,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Kept,
    works_down_to: AccessState::Transitioning,
    while_sanitizing: true,
    without_unit: WithoutUnit::ListsUnits,
    exists: Exists::Always,
    io: None,
    offload: None,
};

/// Lists the LUNs; see [`list`].
pub(super) fn execute<D>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    list(call.nexus, &call.cdb)
}

/// Lists the LUNs that the nexus sees, and clears REPORTED LUNS DATA HAS CHANGED on all of them. Of
/// the values of SELECT REPORT, 00h and 02h list all LUNs; 01h lists well-known logical units, of
/// which there are none.
pub(super) fn list<D>(nexus: &Nexus<D>, cdb: &Cdb) -> Result<Reply, Fault> {
    let view = nexus.view();
    let listed = match cdb.byte::<2>() {
        0x00 | 0x02 => view.as_slice(),
        0x01 => &[],
        _ => return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb(2))),
    };
    let data = scsi::report::luns(listed.iter().map(|path| path.lun));
    for path in &view {
        path.clear(AdditionalSense::REPORTED_LUNS_DATA_HAS_CHANGED);
    }
    Ok(Reply::parameter_data(data, cdb.be32::<6>()))
}
