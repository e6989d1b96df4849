//! SET TARGET PORT GROUPS (A4h/0Ah), SPC-4 §6.45: an initiator chooses which paths are active. The
//! command exists only where the administrator permits explicit asymmetric access (INQUIRY reports
//! it in TPGS).

use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::device::port_groups::settable;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::target_port_groups::{SetListError, parse_set};
use unit::{AccessState, ReservationClass};

pub(super) const COMMAND: Command = Command {
    name: "SET TARGET PORT GROUPS",
    opcode: scsi::opcode::MAINTENANCE_OUT,
    service_action: Some(service_action::SET_TARGET_PORT_GROUPS),
    cdb_usage: &hex!("a4 0a 00000000 ffffffff 00 00"),
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
    limit_blocks: None,
    reservation_class: ReservationClass::Control,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::Transitioning,
    while_sanitizing: true,
    without_unit: WithoutUnit::Refused,
    exists: Exists::WithExplicitAccess,
    io: None,
    offload: None,
};

/// Bytes of the longest accepted parameter list: the header and a descriptor for each of 256
/// groups.
const LONGEST_LIST_BYTES: u64 = 4 + 4 * 256;

/// PARAMETER LIST LENGTH; 0 for a list that is refused whatever its content.
fn data_out_bytes(query: &DataOutQuery<'_>) -> u64 {
    let length = u64::from(query.cdb.be32::<6>());
    if length <= LONGEST_LIST_BYTES { length } else { 0 }
}

/// Changes the state of the groups in the list; other groups keep theirs. On GOOD status the change
/// is durable, and every other nexus has a unit attention.
///
/// * `ParameterListLength`: not a header followed by whole descriptors.
/// * `InvalidFieldInParameterList`: unknown group, or a state that cannot be requested.
/// * `SetTargetPortGroupsFailed`: a host would be left without a path, or the states could not be
///   stored; the states in effect have not changed.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let length = u64::from(call.cdb.be32::<6>());
    if length == 0 {
        return Ok(Reply::good());
    }
    if length > LONGEST_LIST_BYTES {
        return Err(Fault::ParameterListLength { given_bytes: length, needed_bytes: LONGEST_LIST_BYTES });
    }
    let list = call.parameter_list(length)?;
    let wanted = parse_set(&list).map_err(|error| match error {
        SetListError::Length => Fault::ParameterListLength { given_bytes: length, needed_bytes: length + 4 },
        SetListError::State(at) => Fault::InvalidFieldInParameterList(at),
    })?;
    let _changes = call.target.port_group_lock().await;
    let groups = call.target.port_groups();
    let mut states = Vec::with_capacity(wanted.len());
    for (group, state, at) in wanted {
        if !groups.iter().any(|known| known.identifier == group) {
            return Err(Fault::InvalidFieldInParameterList(at));
        }
        states.retain(|(earlier, _)| *earlier != group);
        states.push((group, settable(state).ok_or(Fault::InvalidFieldInParameterList(at))?));
    }
    states.retain(|(group, state)| groups.iter().any(|known| known.identifier == *group && known.state != *state));
    if !states.is_empty() {
        let changed = call.target.change_explicitly(call.nexus.id, states).await;
        changed.map_err(Fault::SetTargetPortGroupsFailed)?;
    }
    Ok(Reply::took(length))
}
