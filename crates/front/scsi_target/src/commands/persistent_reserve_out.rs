//! PERSISTENT RESERVE OUT (5Fh), SPC-4 §6.16. This file reads the parameter list and applies the
//! change; each service action has its row and its rules in a file of its own.

pub(super) mod clear;
pub(super) mod preempt;
pub(super) mod register;
pub(super) mod register_and_move;
pub(super) mod release;
pub(super) mod reserve;

use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::persistent_reservation::{Basic, RegisterAndMove, SCOPE_LOGICAL_UNIT, TransportId, TransportIdsError};
use scsi::{Cdb, FieldPointer};
use std::future::poll_fn;
use std::task::Poll;
use unit::reservations::{Refused, Transition};
use unit::{AccessState, ReservationClass};
use unit::{Registrant, ReservationType};

/// Fields that all rows share. SCOPE and TYPE are accepted by every service action, and ignored
/// where they have no meaning.
const BASIS: Command = Command {
    name: "PERSISTENT RESERVE OUT",
    opcode: scsi::opcode::PERSISTENT_RESERVE_OUT,
    service_action: None,
    cdb_usage: &hex!("5f 00 ff 0000 ffffffff 00"),
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
    limit_blocks: None,
    reservation_class: ReservationClass::Reservation,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::Standby,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

/// SCOPE and TYPE of a CDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScopeAndType {
    scope: u8,
    kind: u8,
}

impl ScopeAndType {
    fn of(cdb: &Cdb) -> Self {
        let byte = cdb.byte::<2>();
        Self { scope: byte >> 4, kind: byte & 0x0f }
    }

    /// Reservation type, when scope and type both exist.
    fn validated(self) -> Result<ReservationType, Fault> {
        if self.scope != SCOPE_LOGICAL_UNIT {
            return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(2, 7)));
        }
        ReservationType::from_number(self.kind).ok_or(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(2, 3)))
    }
}

/// Decoded parameter list.
enum ParameterList {
    Basic(Basic, Vec<(usize, TransportId)>),
    Move(Box<RegisterAndMove>),
}

/// PARAMETER LIST LENGTH.
fn parameter_list_length(cdb: &Cdb) -> u64 {
    u64::from(cdb.be32::<5>())
}

/// PARAMETER LIST LENGTH; 0 for a list that is too long.
fn data_out_bytes(query: &DataOutQuery<'_>) -> u64 {
    let length = parameter_list_length(query.cdb);
    if length <= u64::from(query.limits.persistent_reserve_out_bytes) { length } else { 0 }
}

/// Changes registrations or the reservation. With GOOD status the change is durable (if APTPL
/// requires it), its unit attentions are raised, and no command that the reservation forbids can
/// still take effect.
///
/// * `ParameterListLength`: other than 24 bytes, without SPEC_I_PT and REGISTER AND MOVE;
///   TransportIDs that do not fill their length.
/// * `InvalidFieldInParameterList`: SPEC_I_PT where it is not allowed, or an invalid TransportID.
/// * `ReservationsNotStored`: the change could not be made durable; what is in effect has not changed.
///   If the pool stopped meanwhile, the next start may find the change.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let length = parameter_list_length(&call.cdb);
    let list = read(call, length)?;
    let actor = call.nexus.registrant.as_ref().ok_or(Fault::InsufficientRegistrationResources)?;
    let preempted = {
        let _changes = call.unit().reservations.lock().await;
        // A RESERVE (6) may have been executed during the wait.
        call.nexus.check_reservation(call.logical_unit, ReservationClass::Reservation)?;
        let mut change = Transition::new(&call.unit().reservations.state(), actor, call.target.limits().registrations);
        let applied = apply(call, &mut change, &list);
        if matches!(applied, Err(Fault::ReservationConflict(_))) {
            call.unit().statistics.count_conflict();
        }
        applied?;
        let (state, notices, preempted) = change.into_parts();
        let committed = call.unit().reservations.commit(call.volume(), call.target.units().store(), state).await;
        committed.map_err(Fault::ReservationsNotStored)?;
        call.target.units().notify(call.volume(), notices);
        preempted
    };
    if call.cdb.service_action() == service_action::PREEMPT_AND_ABORT {
        call.leave_task_set();
        abort(call, preempted).await;
    }
    // Commands that were admitted before the change and are now forbidden end before the response.
    call.unit().writes.drained().await;
    Ok(Reply::took(length))
}

/// Reads the parameter list.
fn read<D>(call: &Invocation<'_, D>, length: u64) -> Result<ParameterList, Fault> {
    let wrong_length = |needed: usize| Fault::ParameterListLength { given_bytes: length, needed_bytes: needed as u64 };
    if length > u64::from(call.target.limits().persistent_reserve_out_bytes) {
        return Err(wrong_length(Basic::BYTES));
    }
    let moves = call.cdb.service_action() == service_action::REGISTER_AND_MOVE;
    let bytes = call.parameter_list(length)?;
    if moves {
        let list = RegisterAndMove::parse(&bytes).ok_or_else(|| wrong_length(RegisterAndMove::BYTES))?;
        return Ok(ParameterList::Move(Box::new(list)));
    }
    let basic = Basic::parse(&bytes).ok_or_else(|| wrong_length(Basic::BYTES))?;
    let mut transport_ids = Vec::new();
    if basic.specify_initiator_ports {
        if call.cdb.service_action() != service_action::REGISTER {
            let at = FieldPointer::parameter_list_bit(Basic::FLAGS_AT, Basic::SPEC_I_PT_BIT);
            return Err(Fault::InvalidFieldInParameterList(at));
        }
        transport_ids = Basic::transport_ids(&bytes).map_err(|error| match error {
            TransportIdsError::Length => wrong_length(Basic::TRANSPORT_IDS_AT),
            TransportIdsError::Invalid(at) => Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at)),
        })?;
    } else if bytes.len() != Basic::BYTES {
        return Err(wrong_length(Basic::BYTES));
    }
    Ok(ParameterList::Basic(basic, transport_ids))
}

fn apply<D>(call: &Invocation<'_, D>, change: &mut Transition<'_>, list: &ParameterList) -> Result<(), Fault> {
    let asked = ScopeAndType::of(&call.cdb);
    let ports = call.target.reservation_ports();
    match list {
        ParameterList::Move(list) => register_and_move::apply(change, list, &ports),
        ParameterList::Basic(basic, transport_ids) => match call.cdb.service_action() {
            service_action::RESERVE => reserve::apply(change, basic, asked),
            service_action::RELEASE => release::apply(change, basic, asked),
            service_action::CLEAR => clear::apply(change, basic),
            service_action::PREEMPT | service_action::PREEMPT_AND_ABORT => preempt::apply(change, basic, asked),
            _ => {
                let ignore = call.cdb.service_action() == service_action::REGISTER_AND_IGNORE_EXISTING_KEY;
                register::apply(change, basic, transport_ids, ignore, &ports)
            }
        },
    }
}

/// Maps a refusal to a fault. `NoKey` and `WrongType` concern a different field in each service
/// action; actions that need another field than this one map them first.
fn fault(refused: Refused) -> Fault {
    match refused {
        Refused::Conflict => Fault::ReservationConflict(None),
        Refused::NoRoom => Fault::InsufficientRegistrationResources,
        Refused::NoKey => {
            Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(Basic::SERVICE_ACTION_KEY_AT))
        }
        Refused::WrongType => Fault::InvalidRelease,
    }
}

/// Ends the tasks of the preempted registrants. The wait ends early when this command is aborted
/// itself: its effect is complete, and two nexuses that preempt each other must not wait for each
/// other.
async fn abort<D: BlockDevice>(call: &Invocation<'_, D>, preempted: Vec<Registrant>) {
    if preempted.is_empty() {
        return;
    }
    let mut aborted = call.target.units().abort_commands(call.volume(), &preempted);
    poll_fn(|context| {
        if call.request.abort.is_set_or_wakes(context.waker()) {
            return Poll::Ready(());
        }
        aborted.as_mut().poll(context)
    })
    .await;
}
