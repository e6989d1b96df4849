//! GET LBA STATUS (9Eh/12h), SBC-3 §5.4.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, Lba};
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::provisioning::{DEALLOCATED, LbaStatusDescriptor, MAPPED, lba_status_data};
use unit::{AccessState, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "GET LBA STATUS",
    opcode: scsi::opcode::SERVICE_ACTION_IN_16,
    service_action: Some(service_action::GET_LBA_STATUS),
    cdb_usage: &hex!("9e 12 ffffffffffffffff ffffffff 00 00"),
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

/// Most descriptors in one response; the initiator continues after the last one.
const DESCRIPTORS: usize = 256;

/// Returns runs of mapped and deallocated blocks from the starting LBA on, as many as fit the allocation length.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let lba = call.cdb.be64::<2>();
    call.logical_unit.checked_range(lba, 1)?;
    let allocation_length = call.cdb.be32::<10>();
    let room = usize::try_from(allocation_length.saturating_sub(8) / 16).unwrap_or(usize::MAX);
    let runs = call.unit().device().provisioning(Lba(lba), room.clamp(1, DESCRIPTORS)).await?;
    let descriptors: Vec<_> = runs
        .iter()
        .map(|run| {
            let count = u32::try_from(run.extent.count).unwrap_or(u32::MAX);
            LbaStatusDescriptor::new(run.extent.lba.0, count, if run.mapped { MAPPED } else { DEALLOCATED })
        })
        .collect();
    // A run that exceeds its 32-bit count is cut; descriptors after it would leave a gap.
    let whole = runs.iter().take_while(|run| u32::try_from(run.extent.count).is_ok()).count();
    let reported = descriptors.get(..(whole + 1).min(descriptors.len())).unwrap_or_default();
    Ok(Reply::parameter_data(lba_status_data(reported), allocation_length))
}
