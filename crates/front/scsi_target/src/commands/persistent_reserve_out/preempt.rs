//! PREEMPT (04h) and PREEMPT AND ABORT (05h), SPC-4 §5.9 and §5.9.

use super::{BASIS, ScopeAndType};
use crate::command::{Command, Operation};
use crate::persistent_reservations::{NexusName, Reservation, Transition};
use crate::sense::Fault;
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::persistent_reservation::Basic;
use scsi::{AdditionalSense, FieldPointer};

pub(in crate::commands) const PREEMPT: Command = Command {
    name: "PERSISTENT RESERVE OUT, PREEMPT",
    operation: Operation::PersistentReserveOutPreempt,
    service_action: Some(service_action::PREEMPT),
    cdb_usage: &hex!("5f 04 ff 0000 ffffffff 00"),
    ..BASIS
};

pub(in crate::commands) const PREEMPT_AND_ABORT: Command = Command {
    name: "PERSISTENT RESERVE OUT, PREEMPT AND ABORT",
    operation: Operation::PersistentReserveOutPreempt,
    service_action: Some(service_action::PREEMPT_AND_ABORT),
    cdb_usage: &hex!("5f 05 ff 0000 ffffffff 00"),
    ..BASIS
};

/// Takes away every registration with the SERVICE ACTION RESERVATION KEY. When that is the holder's key, or 0 while all registrants hold
/// the reservation (then it stands for everybody else), the sender takes the reservation over with the scope and type of the CDB and
/// stays registered; otherwise scope and type are not looked at.
///
/// * `ReservationConflict`: not registered with this key, or nobody has the other key.
/// * `InvalidFieldInParameterList`: key 0 without such a reservation.
/// * `InvalidFieldInCdb`: no such scope or type for the reservation that is taken over.
pub(super) fn apply(change: &mut Transition<'_>, basic: &Basic, asked: ScopeAndType) -> Result<(), Fault> {
    change.authorise(basic.key)?;
    let key = basic.service_action_key;
    let held = change.state.reservation.clone();
    let everybody = key == 0 && held.as_ref().is_some_and(|reservation| reservation.kind.is_all_registrants());
    if key == 0 && !everybody {
        let at = FieldPointer::parameter_list(Basic::SERVICE_ACTION_KEY_AT);
        return Err(Fault::InvalidFieldInParameterList(at));
    }
    let of_holder = held.as_ref().is_some_and(|reservation| {
        !reservation.kind.is_all_registrants() && change.state.key(&reservation.holder) == Some(key)
    });
    let taken_over = if everybody || of_holder { Some(asked.validated()?) } else { None };
    let named = change.state.keys.iter().filter(|(_, registered)| everybody || **registered == key);
    let named: Vec<NexusName> = named.map(|(nexus, _)| nexus.clone()).collect();
    if named.is_empty() {
        return Err(Fault::ReservationConflict);
    }
    for nexus in named {
        let is_actor = nexus == *change.actor;
        if is_actor && taken_over.is_some() {
            continue;
        }
        change.state.keys.remove(&nexus);
        if !is_actor {
            change.preempted.push(nexus.clone());
        }
        change.tell(nexus, AdditionalSense::REGISTRATIONS_PREEMPTED);
    }
    if let Some(kind) = taken_over {
        change.state.reservation = Some(Reservation { kind, holder: change.actor.clone() });
        if held.is_some_and(|held| held.kind != kind) {
            change.tell_registered(AdditionalSense::RESERVATIONS_RELEASED);
        }
    } else if change.state.keys.is_empty() {
        change.state.reservation = None;
    }
    change.count();
    Ok(())
}
