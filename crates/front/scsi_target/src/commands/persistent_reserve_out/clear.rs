//! CLEAR (03h) of PERSISTENT RESERVE OUT, SPC-4 §5.9.

use super::{BASIS, fault};
use crate::command::Command;
use crate::sense::Fault;
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::persistent_reservation::Basic;
use unit::reservations::Transition;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "PERSISTENT RESERVE OUT, CLEAR",
    service_action: Some(service_action::CLEAR),
    cdb_usage: &hex!("5f 03 ff 0000 ffffffff 00"),
    ..BASIS
};

/// Removes the reservation and every registration. `ReservationConflict`: not registered with this
/// key.
pub(super) fn apply(change: &mut Transition<'_>, basic: &Basic) -> Result<(), Fault> {
    change.clear(basic.key).map_err(fault)
}
