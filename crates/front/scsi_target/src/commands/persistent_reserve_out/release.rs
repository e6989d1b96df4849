//! RELEASE (02h) of PERSISTENT RESERVE OUT, SPC-4 §5.9.

use super::{BASIS, ScopeAndType, fault};
use crate::command::Command;
use crate::sense::Fault;
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::persistent_reservation::Basic;
use unit::reservations::Transition;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "PERSISTENT RESERVE OUT, RELEASE",
    service_action: Some(service_action::RELEASE),
    cdb_usage: &hex!("5f 02 ff 0000 ffffffff 00"),
    ..BASIS
};

/// Removes the reservation. Without a reservation, or from a nexus that does not hold it, this is a
/// success without effect.
///
/// * `ReservationConflict`: not registered with this key.
/// * `InvalidRelease`: the holder names another scope or type.
pub(super) fn apply(change: &mut Transition<'_>, basic: &Basic, asked: ScopeAndType) -> Result<(), Fault> {
    change.release(basic.key, asked.validated().ok()).map_err(fault)
}
