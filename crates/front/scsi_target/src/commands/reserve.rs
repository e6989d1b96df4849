//! RESERVE (16h), SPC-2 §7.21: six-byte form, whole logical unit, no third party. VMFS uses it while it formats, even
//! with ATS.

use crate::command::{Command, DataDirection, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use unit::{AccessState, ClientId, ReservationClass, Unit};

pub(super) const COMMAND: Command = Command {
    name: "RESERVE (6)",
    opcode: scsi::opcode::RESERVE_6,
    service_action: None,
    cdb_usage: &hex!("16 00 0000 00 00"),
    data: DataDirection::None,
    limit_blocks: None,
    reservation_class: ReservationClass::Condition,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::Unavailable,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

/// Reserves the logical unit for this I_T nexus; repeated by the holder, this is a success.
/// Completes when no previously admitted write is in flight: from then on no command of another
/// nexus takes effect.
///
/// Where there are registrations the command conflicts, except that it is a success without effect
/// for a nexus that a persistent reservation lets in (SPC-4 §5.9).
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let mut taken = {
        // A PERSISTENT RESERVE OUT that has begun completes first: the two kinds of reservation
        // exclude each other.
        let _changes = call.unit().reservations.lock().await;
        call.nexus.check_reservation(call.logical_unit, call.command.reservation_class)?;
        if super::release::is_covered(call)? {
            return Ok(Reply::good());
        }
        let held = call.unit().reservations.whole();
        let client = call.nexus.id.client();
        call.unit().reservations.set_whole(Some(client));
        Taken { unit: call.unit(), client, give_back: held.is_none() }
    };
    call.unit().writes.drained().await;
    taken.give_back = false;
    // A reset during the wait removes the reservation, and another nexus may have taken it. This
    // command then counts as aborted by the reset.
    call.nexus.check_reservation(call.logical_unit, call.command.reservation_class)?;
    Ok(Reply::good())
}

/// New reservation; released if the command is aborted while it waits.
struct Taken<'a, D: BlockDevice> {
    unit: &'a Unit<D>,
    client: ClientId,
    give_back: bool,
}

impl<D: BlockDevice> Drop for Taken<'_, D> {
    fn drop(&mut self) {
        if self.give_back && self.unit.reservations.whole() == Some(self.client) {
            self.unit.reservations.set_whole(None);
        }
    }
}
