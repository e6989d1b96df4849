//! SANITIZE (48h), SBC-4 §5.30: begins a sanitize operation, or clears the failure of an earlier
//! one. `unit::Sanitize` executes the operation. CRYPTOGRAPHIC ERASE is not listed: content is not
//! encrypted, so there is no key to erase.

use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::device::Invocation;
use crate::reply::Reply;
use crate::sense::Fault;
use block::{BlockDevice, LOGICAL_BLOCK_BYTES};
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::sanitize::{AUSE, IMMED, Overwrite, OverwriteFault};
use scsi::{Cdb, FieldPointer};
use unit::{AccessState, ReservationClass};
use unit::{PersistedSanitize, SanitizeMethod};

// ZNR is refused: there are no zones.
pub(super) const BLOCK_ERASE: Command = Command {
    name: "SANITIZE, BLOCK ERASE",
    opcode: scsi::opcode::SANITIZE,
    service_action: Some(service_action::BLOCK_ERASE),
    cdb_usage: &hex!("48 a2 0000000000 0000 00"), // PARAMETER LIST LENGTH has to be 0
    data: DataDirection::None,
    limit_blocks: None,
    reservation_class: ReservationClass::Write,
    harmless: None,
    awaited: false,
    // Medium not needed: a failed earlier operation may have left it unusable.
    medium: Medium::NotNeeded,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::ActiveNonOptimized,
    while_sanitizing: true,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: None,
};

pub(super) const EXIT_FAILURE_MODE: Command = Command {
    name: "SANITIZE, EXIT FAILURE MODE",
    service_action: Some(service_action::EXIT_FAILURE_MODE),
    cdb_usage: &hex!("48 bf 0000000000 0000 00"),
    ..BLOCK_ERASE
};

pub(super) const OVERWRITE: Command = Command {
    name: "SANITIZE, OVERWRITE",
    service_action: Some(service_action::OVERWRITE),
    cdb_usage: &hex!("48 a1 0000000000 ffff 00"),
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
    ..BLOCK_ERASE
};

const BLOCK: usize = LOGICAL_BLOCK_BYTES as usize;
const PARAMETER_LIST_LENGTH: FieldPointer = FieldPointer::cdb(7);

/// Bytes of the parameter list of OVERWRITE; 0 for a length that is refused.
fn parameter_list_length(cdb: &Cdb) -> u64 {
    let length = usize::from(cdb.be16::<7>());
    if (Overwrite::MIN_BYTES..=Overwrite::max_bytes(BLOCK)).contains(&length) { length as u64 } else { 0 }
}

fn data_out_bytes(query: &DataOutQuery<'_>) -> u64 {
    parameter_list_length(query.cdb)
}

/// Begins the operation. With IMMED the status is returned when the operation has begun and its
/// record is durable, otherwise when it has ended.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let length = if call.command.takes_data() { parameter_list_length(&call.cdb) } else { 0 };
    let unrestricted_exit = call.cdb.bit::<1>(AUSE);
    let method = match call.cdb.service_action() {
        service_action::EXIT_FAILURE_MODE => {
            call.unit().sanitize.exit_failure(call.volume(), call.target.units().store()).await?;
            return Ok(Reply::good());
        }
        service_action::OVERWRITE => {
            if length == 0 {
                return Err(Fault::InvalidFieldInCdb(PARAMETER_LIST_LENGTH));
            }
            overwrite(&call.parameter_list(length)?)?
        }
        _ => SanitizeMethod::BlockErase,
    };
    call.logical_unit.check_medium_writable()?;
    call.unit().sanitize.check_begin(unrestricted_exit)?;
    let client = Some(call.nexus.initiator.to_string());
    let operation = PersistedSanitize { method, unrestricted_exit, failed: None, client };
    let begun = call.target.units().begin_sanitize(call.unit(), operation).await?;
    if !call.cdb.bit::<1>(IMMED) {
        begun.ended(&call.request.abort).await?;
    }
    Ok(Reply::took(length))
}

/// Parses the parameter list of OVERWRITE. An invalid pattern or count is reported as a field of
/// the CDB: conformance suites accept nothing else.
fn overwrite(list: &[u8]) -> Result<SanitizeMethod, Fault> {
    match Overwrite::parse(list, BLOCK) {
        Ok(Overwrite { count, invert, pattern }) => Ok(SanitizeMethod::Overwrite { count, invert, pattern }),
        Err(OverwriteFault::Field(_)) => Err(Fault::InvalidFieldInCdb(PARAMETER_LIST_LENGTH)),
        Err(OverwriteFault::Length { needed_bytes }) => {
            Err(Fault::ParameterListLength { given_bytes: list.len() as u64, needed_bytes })
        }
    }
}
