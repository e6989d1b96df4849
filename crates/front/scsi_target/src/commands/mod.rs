//! Commands, one file each: their rows and the code that executes them. A command that is not
//! listed does not exist.

mod block_ranges;
mod compare_and_write;
mod copy_operation_abort;
mod extended_copy;
mod get_lba_status;
mod inquiry;
mod log_sense;
mod mode_select;
mod mode_sense;
mod orwrite;
mod persistent_reserve_in;
mod persistent_reserve_out;
mod populate_token;
mod pre_fetch;
mod prevent_allow_medium_removal;
mod read;
mod read_capacity;
mod read_defect_data;
mod receive_copy_results;
mod receive_rod_token_information;
mod release;
mod report_luns;
mod report_supported_operation_codes;
mod report_supported_task_management_functions;
mod report_target_port_groups;
mod request_sense;
mod reserve;
mod sanitize;
mod send_diagnostic;
mod set_target_port_groups;
mod start_stop_unit;
mod synchronize_cache;
mod test_unit_ready;
mod unmap;
mod verify;
mod write;
mod write_and_verify;
mod write_atomic;
mod write_same;
mod write_using_token;

use crate::command::{Command, WithoutUnit};
use crate::device::Invocation;
use crate::nexus::Nexus;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use scsi::{Cdb, FieldPointer, LogicalUnitNumber};

/// Row of the command table.
pub(crate) struct Row {
    /// Facts of the command.
    pub command: &'static Command,
    operation: Operation,
    /// Bits of a CDB that the command refuses; byte 0 is the lowest.
    refused_bits: u128,
}

const fn row(command: &'static Command, operation: Operation) -> Row {
    Row { command, operation, refused_bits: command.refused_bits() }
}

impl Row {
    /// As [`Command::validate`], in a few instructions for a CDB that is accepted.
    pub fn validate(&self, cdb: &Cdb) -> Result<(), Fault> {
        if u128::from_le_bytes(cdb.0) & self.refused_bits == 0 { Ok(()) } else { self.command.validate(cdb) }
    }
}

/// Command table, by name: the facts of each command, and the code that executes it.
const COMMANDS: &[Row] = &[
    row(&compare_and_write::COMMAND, Operation::CompareAndWrite),
    row(&copy_operation_abort::COMMAND, Operation::CopyOperationAbort),
    row(&extended_copy::LID1, Operation::ExtendedCopy),
    row(&extended_copy::LID4, Operation::ExtendedCopy),
    row(&get_lba_status::COMMAND, Operation::GetLbaStatus),
    row(&inquiry::COMMAND, Operation::Inquiry),
    row(&log_sense::COMMAND, Operation::LogSense),
    row(&mode_select::MODE_SELECT_10, Operation::ModeSelect),
    row(&mode_select::MODE_SELECT_6, Operation::ModeSelect),
    row(&mode_sense::MODE_SENSE_10, Operation::ModeSense),
    row(&mode_sense::MODE_SENSE_6, Operation::ModeSense),
    row(&orwrite::COMMAND, Operation::OrWrite),
    row(&persistent_reserve_in::READ_FULL_STATUS, Operation::PersistentReserveInFullStatus),
    row(&persistent_reserve_in::READ_KEYS, Operation::PersistentReserveInKeys),
    row(&persistent_reserve_in::READ_RESERVATION, Operation::PersistentReserveInReservation),
    row(&persistent_reserve_in::REPORT_CAPABILITIES, Operation::PersistentReserveInCapabilities),
    row(&persistent_reserve_out::clear::COMMAND, Operation::PersistentReserveOutClear),
    row(&persistent_reserve_out::preempt::PREEMPT, Operation::PersistentReserveOutPreempt),
    row(&persistent_reserve_out::preempt::PREEMPT_AND_ABORT, Operation::PersistentReserveOutPreempt),
    row(&persistent_reserve_out::register::REGISTER, Operation::PersistentReserveOutRegister),
    row(&persistent_reserve_out::register::REGISTER_AND_IGNORE_EXISTING_KEY, Operation::PersistentReserveOutRegister),
    row(&persistent_reserve_out::register_and_move::COMMAND, Operation::PersistentReserveOutRegisterAndMove),
    row(&persistent_reserve_out::release::COMMAND, Operation::PersistentReserveOutRelease),
    row(&persistent_reserve_out::reserve::COMMAND, Operation::PersistentReserveOutReserve),
    row(&populate_token::COMMAND, Operation::PopulateToken),
    row(&pre_fetch::PRE_FETCH_10, Operation::PreFetch),
    row(&pre_fetch::PRE_FETCH_16, Operation::PreFetch),
    row(&prevent_allow_medium_removal::COMMAND, Operation::PreventAllowMediumRemoval),
    row(&read::READ_10, Operation::Read),
    row(&read::READ_12, Operation::Read),
    row(&read::READ_16, Operation::Read),
    row(&read::READ_6, Operation::Read),
    row(&read_capacity::READ_CAPACITY_10, Operation::ReadCapacity10),
    row(&read_capacity::READ_CAPACITY_16, Operation::ReadCapacity16),
    row(&read_defect_data::READ_DEFECT_DATA_10, Operation::ReadDefectData),
    row(&read_defect_data::READ_DEFECT_DATA_12, Operation::ReadDefectData),
    row(&receive_copy_results::DATA_LID1, Operation::ReceiveCopyDataLid1),
    row(&receive_copy_results::DATA_LID4, Operation::ReceiveCopyDataLid4),
    row(&receive_copy_results::FAILURE_DETAILS, Operation::ReceiveCopyFailureDetails),
    row(&receive_copy_results::OPERATING_PARAMETERS, Operation::ReceiveCopyOperatingParameters),
    row(&receive_copy_results::STATUS_LID1, Operation::ReceiveCopyStatusLid1),
    row(&receive_copy_results::STATUS_LID4, Operation::ReceiveCopyStatusLid4),
    row(&receive_rod_token_information::COMMAND, Operation::ReceiveRodTokenInformation),
    row(&release::COMMAND, Operation::Release),
    row(&receive_rod_token_information::ALL, Operation::ReportAllRodTokens),
    row(&report_luns::COMMAND, Operation::ReportLuns),
    row(&report_supported_operation_codes::COMMAND, Operation::ReportSupportedOperationCodes),
    row(&report_supported_task_management_functions::COMMAND, Operation::ReportSupportedTaskManagementFunctions),
    row(&report_target_port_groups::COMMAND, Operation::ReportTargetPortGroups),
    row(&request_sense::COMMAND, Operation::RequestSense),
    row(&reserve::COMMAND, Operation::Reserve),
    row(&sanitize::BLOCK_ERASE, Operation::Sanitize),
    row(&sanitize::EXIT_FAILURE_MODE, Operation::Sanitize),
    row(&sanitize::OVERWRITE, Operation::Sanitize),
    row(&send_diagnostic::COMMAND, Operation::SendDiagnostic),
    row(&set_target_port_groups::COMMAND, Operation::SetTargetPortGroups),
    row(&start_stop_unit::COMMAND, Operation::StartStopUnit),
    row(&synchronize_cache::SYNCHRONIZE_CACHE_10, Operation::SynchronizeCache),
    row(&synchronize_cache::SYNCHRONIZE_CACHE_16, Operation::SynchronizeCache),
    row(&test_unit_ready::COMMAND, Operation::TestUnitReady),
    row(&unmap::COMMAND, Operation::Unmap),
    row(&verify::VERIFY_10, Operation::Verify),
    row(&verify::VERIFY_12, Operation::Verify),
    row(&verify::VERIFY_16, Operation::Verify),
    row(&write::WRITE_10, Operation::Write),
    row(&write::WRITE_12, Operation::Write),
    row(&write::WRITE_16, Operation::Write),
    row(&write::WRITE_6, Operation::Write),
    row(&write_and_verify::WRITE_AND_VERIFY_10, Operation::WriteAndVerify),
    row(&write_and_verify::WRITE_AND_VERIFY_12, Operation::WriteAndVerify),
    row(&write_and_verify::WRITE_AND_VERIFY_16, Operation::WriteAndVerify),
    row(&write_atomic::COMMAND, Operation::WriteAtomic),
    row(&write_same::WRITE_SAME_10, Operation::WriteSame),
    row(&write_same::WRITE_SAME_16, Operation::WriteSame),
    row(&write_using_token::COMMAND, Operation::WriteUsingToken),
];

/// Code that executes a command. Commands that differ only in the size of their CDB share one.
#[derive(Clone, Copy)]
enum Operation {
    CompareAndWrite,
    CopyOperationAbort,
    ExtendedCopy,
    GetLbaStatus,
    Inquiry,
    LogSense,
    ModeSelect,
    ModeSense,
    OrWrite,
    PersistentReserveInCapabilities,
    PersistentReserveInFullStatus,
    PersistentReserveInKeys,
    PersistentReserveInReservation,
    PersistentReserveOutClear,
    PersistentReserveOutPreempt,
    PersistentReserveOutRegister,
    PersistentReserveOutRegisterAndMove,
    PersistentReserveOutRelease,
    PersistentReserveOutReserve,
    PopulateToken,
    PreFetch,
    PreventAllowMediumRemoval,
    Read,
    ReadCapacity10,
    ReadCapacity16,
    ReadDefectData,
    ReceiveCopyDataLid1,
    ReceiveCopyDataLid4,
    ReceiveCopyFailureDetails,
    ReceiveCopyOperatingParameters,
    ReceiveCopyStatusLid1,
    ReceiveCopyStatusLid4,
    ReceiveRodTokenInformation,
    Release,
    ReportAllRodTokens,
    ReportLuns,
    ReportSupportedOperationCodes,
    ReportSupportedTaskManagementFunctions,
    ReportTargetPortGroups,
    RequestSense,
    Reserve,
    Sanitize,
    SendDiagnostic,
    SetTargetPortGroups,
    StartStopUnit,
    SynchronizeCache,
    TestUnitReady,
    Unmap,
    Verify,
    Write,
    WriteAndVerify,
    WriteAtomic,
    WriteSame,
    WriteUsingToken,
}

const NO_ROW: u8 = 0xff;

/// First row of each operation code, or [`NO_ROW`].
static FIRST_ROW: [u8; 256] = {
    assert!(COMMANDS.len() < NO_ROW as usize);
    let mut first = [NO_ROW; 256];
    let mut row = COMMANDS.len();
    while row > 0 {
        row -= 1;
        first[COMMANDS[row].command.opcode as usize] = row as u8;
    }
    first
};

/// Finds the row of a CDB. An unknown operation code and an unknown service action are different
/// faults.
pub(crate) fn find(cdb: &Cdb) -> Result<&'static Row, Fault> {
    let opcode = cdb.opcode();
    let row = FIRST_ROW.get(usize::from(opcode)).copied().unwrap_or(NO_ROW);
    let first = COMMANDS.get(usize::from(row)).ok_or(Fault::InvalidOperationCode)?;
    if first.command.service_action.is_none() {
        return Ok(first);
    }
    let wanted = |row: &&Row| row.command.opcode == opcode && row.command.service_action == Some(cdb.service_action());
    COMMANDS.iter().find(wanted).ok_or(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(1, 4)))
}

/// Facts of every command, by name.
pub(crate) fn commands() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().map(|row| row.command)
}

/// Executes an admitted command. Rare commands with large state are boxed, so that the future of a
/// READ or WRITE stays small.
pub(crate) async fn execute<D: BlockDevice + 'static>(row: &Row, call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    match row.operation {
        Operation::Read => read::execute(call).await,
        Operation::Write => write::execute(call).await,
        Operation::CompareAndWrite => Box::pin(compare_and_write::execute(call)).await,
        Operation::WriteSame => Box::pin(write_same::execute(call)).await,
        Operation::Unmap => Box::pin(unmap::execute(call)).await,
        Operation::CopyOperationAbort => Box::pin(copy_operation_abort::execute(call)).await,
        Operation::ExtendedCopy => Box::pin(extended_copy::execute(call)).await,
        Operation::PopulateToken => Box::pin(populate_token::execute(call)).await,
        Operation::WriteUsingToken => Box::pin(write_using_token::execute(call)).await,
        Operation::GetLbaStatus => Box::pin(get_lba_status::execute(call)).await,
        Operation::Inquiry => inquiry::execute(call),
        Operation::LogSense => log_sense::execute(call),
        Operation::ModeSelect => mode_select::execute(call),
        Operation::ModeSense => mode_sense::execute(call),
        Operation::OrWrite => Box::pin(orwrite::execute(call)).await,
        Operation::PersistentReserveInCapabilities => Ok(persistent_reserve_in::capabilities(call)),
        Operation::PersistentReserveInFullStatus => Ok(persistent_reserve_in::full_status(call)),
        Operation::PersistentReserveInKeys => Ok(persistent_reserve_in::keys(call)),
        Operation::PersistentReserveInReservation => Ok(persistent_reserve_in::reservation(call)),
        Operation::PersistentReserveOutClear
        | Operation::PersistentReserveOutPreempt
        | Operation::PersistentReserveOutRegister
        | Operation::PersistentReserveOutRegisterAndMove
        | Operation::PersistentReserveOutRelease
        | Operation::PersistentReserveOutReserve => Box::pin(persistent_reserve_out::execute(call)).await,
        Operation::PreFetch => pre_fetch::execute(call),
        Operation::PreventAllowMediumRemoval => prevent_allow_medium_removal::execute(call),
        Operation::ReadCapacity10 => read_capacity::execute_10(call),
        Operation::ReadCapacity16 => read_capacity::execute_16(call),
        Operation::ReadDefectData => read_defect_data::execute(call),
        Operation::ReceiveCopyDataLid1 | Operation::ReceiveCopyDataLid4 => receive_copy_results::data(call),
        Operation::ReceiveCopyFailureDetails => receive_copy_results::failure_details(call),
        Operation::ReceiveCopyOperatingParameters => receive_copy_results::operating_parameters(call),
        Operation::ReceiveCopyStatusLid1 => receive_copy_results::status_lid1(call),
        Operation::ReceiveCopyStatusLid4 => receive_copy_results::status_lid4(call),
        Operation::ReceiveRodTokenInformation => receive_rod_token_information::execute(call),
        Operation::ReportAllRodTokens => receive_rod_token_information::all(call),
        Operation::Release => release::execute(call),
        Operation::ReportLuns => report_luns::execute(call.nexus, &call.cdb),
        Operation::ReportSupportedOperationCodes => report_supported_operation_codes::execute(call),
        Operation::ReportSupportedTaskManagementFunctions => report_supported_task_management_functions::execute(call),
        Operation::ReportTargetPortGroups => report_target_port_groups::execute(call),
        Operation::RequestSense => request_sense::execute(call),
        Operation::Reserve => Box::pin(reserve::execute(call)).await,
        Operation::Sanitize => Box::pin(sanitize::execute(call)).await,
        Operation::SendDiagnostic => Box::pin(send_diagnostic::execute(call)).await,
        Operation::SetTargetPortGroups => Box::pin(set_target_port_groups::execute(call)).await,
        Operation::StartStopUnit => Box::pin(start_stop_unit::execute(call)).await,
        Operation::SynchronizeCache => Box::pin(synchronize_cache::execute(call)).await,
        Operation::TestUnitReady => test_unit_ready::execute(call),
        Operation::Verify => Box::pin(verify::execute(call)).await,
        Operation::WriteAndVerify => Box::pin(write_and_verify::execute(call)).await,
        Operation::WriteAtomic => Box::pin(write_atomic::execute(call)).await,
    }
}

/// Executes a command sent to a LUN without a logical unit.
pub(crate) fn without_logical_unit<D: BlockDevice>(
    nexus: &Nexus<D>,
    lun: Option<LogicalUnitNumber>,
    cdb: &Cdb,
) -> Result<Reply, Fault> {
    let command = find(cdb).map_err(|_| Fault::LogicalUnitNotSupported)?.command;
    match command.without_unit {
        WithoutUnit::Answered(answer) => {
            command.validate(cdb)?;
            answer(cdb)
        }
        WithoutUnit::ListsUnits if lun == Some(LogicalUnitNumber(0)) => {
            command.validate(cdb)?;
            report_luns::execute(nexus, cdb)
        }
        WithoutUnit::ListsUnits | WithoutUnit::Refused => Err(Fault::LogicalUnitNotSupported),
    }
}

#[cfg(test)]
mod tests;
