//! RESERVE (01h) of PERSISTENT RESERVE OUT, SPC-4 §5.9.

use super::{BASIS, ScopeAndType, fault};
use crate::command::Command;
use crate::sense::Fault;
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::persistent_reservation::Basic;
use unit::reservations::Transition;

pub(in crate::commands) const COMMAND: Command = Command {
    name: "PERSISTENT RESERVE OUT, RESERVE",
    service_action: Some(service_action::RESERVE),
    cdb_usage: &hex!("5f 01 ff 0000 ffffffff 00"),
    ..BASIS
};

/// Reserves; repeated by the holder, this is a success.
///
/// * `InvalidFieldInCdb`: invalid scope or type.
/// * `ReservationConflict`: not registered with this key, or another reservation exists, including
///   the sender's own of another type.
pub(super) fn apply(change: &mut Transition<'_>, basic: &Basic, asked: ScopeAndType) -> Result<(), Fault> {
    change.reserve(basic.key, asked.validated()?).map_err(fault)
}
