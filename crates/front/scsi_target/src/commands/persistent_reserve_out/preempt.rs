//! PREEMPT (04h) and PREEMPT AND ABORT (05h) of PERSISTENT RESERVE OUT, SPC-4 §5.9.

use super::{BASIS, ScopeAndType, fault};
use crate::command::Command;
use crate::sense::Fault;
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::persistent_reservation::Basic;
use unit::reservations::{Refused, Transition};

pub(in crate::commands) const PREEMPT: Command = Command {
    name: "PERSISTENT RESERVE OUT, PREEMPT",
    service_action: Some(service_action::PREEMPT),
    cdb_usage: &hex!("5f 04 ff 0000 ffffffff 00"),
    ..BASIS
};

pub(in crate::commands) const PREEMPT_AND_ABORT: Command = Command {
    name: "PERSISTENT RESERVE OUT, PREEMPT AND ABORT",
    service_action: Some(service_action::PREEMPT_AND_ABORT),
    cdb_usage: &hex!("5f 05 ff 0000 ffffffff 00"),
    ..BASIS
};

/// Removes every registration with the SERVICE ACTION RESERVATION KEY. If that is the holder's key,
/// or 0 while all registrants hold the reservation (0 then means all other registrants), the sender
/// takes the reservation over with the scope and type of the CDB and stays registered; otherwise
/// scope and type are ignored.
///
/// * `ReservationConflict`: not registered with this key, or no registrant has the other key.
/// * `InvalidFieldInParameterList`: key 0 without an all registrants reservation.
/// * `InvalidFieldInCdb`: invalid scope or type for the reservation that is taken over.
pub(super) fn apply(change: &mut Transition<'_>, basic: &Basic, asked: ScopeAndType) -> Result<(), Fault> {
    let kind = asked.validated();
    change.preempt(basic.key, basic.service_action_key, kind.as_ref().ok().copied()).map_err(|refused| {
        match (refused, kind) {
            (Refused::WrongType, Err(invalid)) => invalid,
            (refused, _) => fault(refused),
        }
    })
}
