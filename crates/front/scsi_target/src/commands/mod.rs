//! Commands, one file each: their rows and the code that executes them. A command that is not
//! listed does not exist.

mod block_ranges;
mod compare_and_write;
mod copy_operation_abort;
pub(crate) mod extended_copy;
mod get_lba_status;
mod inquiry;
mod log_sense;
mod mode_select;
mod mode_sense;
mod orwrite;
mod persistent_reserve_in;
mod persistent_reserve_out;
pub(crate) mod populate_token;
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
pub(crate) mod write_using_token;

use crate::command::{Command, WithoutUnit};
use crate::device::invocation::{Invocation, Reply};
use crate::nexus::Nexus;
use crate::sense::Fault;
use block::BlockDevice;
use scsi::{Cdb, LogicalUnitNumber};

/// The command table, by name.
pub(crate) const COMMANDS: &[&Command] = &[
    &compare_and_write::COMMAND,
    &copy_operation_abort::COMMAND,
    &extended_copy::LID1,
    &extended_copy::LID4,
    &get_lba_status::COMMAND,
    &inquiry::COMMAND,
    &log_sense::COMMAND,
    &mode_select::MODE_SELECT_10,
    &mode_select::MODE_SELECT_6,
    &mode_sense::MODE_SENSE_10,
    &mode_sense::MODE_SENSE_6,
    &orwrite::COMMAND,
    &persistent_reserve_in::READ_FULL_STATUS,
    &persistent_reserve_in::READ_KEYS,
    &persistent_reserve_in::READ_RESERVATION,
    &persistent_reserve_in::REPORT_CAPABILITIES,
    &persistent_reserve_out::clear::COMMAND,
    &persistent_reserve_out::preempt::PREEMPT,
    &persistent_reserve_out::preempt::PREEMPT_AND_ABORT,
    &persistent_reserve_out::register::REGISTER,
    &persistent_reserve_out::register::REGISTER_AND_IGNORE_EXISTING_KEY,
    &persistent_reserve_out::register_and_move::COMMAND,
    &persistent_reserve_out::release::COMMAND,
    &persistent_reserve_out::reserve::COMMAND,
    &populate_token::COMMAND,
    &pre_fetch::PRE_FETCH_10,
    &pre_fetch::PRE_FETCH_16,
    &prevent_allow_medium_removal::COMMAND,
    &read::READ_10,
    &read::READ_12,
    &read::READ_16,
    &read::READ_6,
    &read_capacity::READ_CAPACITY_10,
    &read_capacity::READ_CAPACITY_16,
    &read_defect_data::READ_DEFECT_DATA_10,
    &read_defect_data::READ_DEFECT_DATA_12,
    &receive_copy_results::DATA_LID1,
    &receive_copy_results::DATA_LID4,
    &receive_copy_results::FAILURE_DETAILS,
    &receive_copy_results::OPERATING_PARAMETERS,
    &receive_copy_results::STATUS_LID1,
    &receive_copy_results::STATUS_LID4,
    &receive_rod_token_information::COMMAND,
    &release::COMMAND,
    &receive_rod_token_information::ALL,
    &report_luns::COMMAND,
    &report_supported_operation_codes::COMMAND,
    &report_supported_task_management_functions::COMMAND,
    &report_target_port_groups::COMMAND,
    &request_sense::COMMAND,
    &reserve::COMMAND,
    &sanitize::BLOCK_ERASE,
    &sanitize::EXIT_FAILURE_MODE,
    &sanitize::OVERWRITE,
    &send_diagnostic::COMMAND,
    &set_target_port_groups::COMMAND,
    &start_stop_unit::COMMAND,
    &synchronize_cache::SYNCHRONIZE_CACHE_10,
    &synchronize_cache::SYNCHRONIZE_CACHE_16,
    &test_unit_ready::COMMAND,
    &unmap::COMMAND,
    &verify::VERIFY_10,
    &verify::VERIFY_12,
    &verify::VERIFY_16,
    &write::WRITE_10,
    &write::WRITE_12,
    &write::WRITE_16,
    &write::WRITE_6,
    &write_and_verify::WRITE_AND_VERIFY_10,
    &write_and_verify::WRITE_AND_VERIFY_12,
    &write_and_verify::WRITE_AND_VERIFY_16,
    &write_atomic::COMMAND,
    &write_same::WRITE_SAME_10,
    &write_same::WRITE_SAME_16,
    &write_using_token::COMMAND,
];

/// The code that executes a row. Commands that differ only in the size of their CDB share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
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

/// Executes an admitted command. Rare ones with large state are boxed, so that a READ or WRITE costs no more than its own.
pub(crate) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    match call.command.operation {
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
    let command = Command::find(cdb).map_err(|_| Fault::LogicalUnitNotSupported)?;
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
