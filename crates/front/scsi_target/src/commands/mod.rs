//! The commands, one file each: their rows, and what executes them. A command that is not listed does not exist.

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

use crate::command::{Command, Operation};
use crate::invocation::{BLOCK, Invocation, Reply};
use crate::limits::Limits;
use crate::logical_unit::BlockRange;
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

/// Executes a command that came for a LUN without a logical unit (SPC-4 §6.6.1, §6.33; SAM-5 §4.7.4): INQUIRY says so, REQUEST SENSE
/// says so, REPORT LUNS works on LUN 0, everything else is refused.
pub(crate) fn without_logical_unit<D: BlockDevice>(
    nexus: &Nexus<D>,
    lun: Option<LogicalUnitNumber>,
    cdb: &Cdb,
) -> Result<Reply, Fault> {
    let command = Command::find(cdb).map_err(|_| Fault::LogicalUnitNotSupported)?;
    match command.operation {
        Operation::Inquiry => {
            command.validate(cdb)?;
            inquiry::without_logical_unit(cdb)
        }
        Operation::RequestSense => {
            command.validate(cdb)?;
            Ok(request_sense::without_logical_unit(cdb))
        }
        Operation::ReportLuns if lun == Some(LogicalUnitNumber(0)) => {
            command.validate(cdb)?;
            report_luns::execute(nexus, cdb)
        }
        _ => Err(Fault::LogicalUnitNotSupported),
    }
}

/// Bytes of Data-Out that a CDB asks for. 0 when it asks for more than a limit or the medium allows: such a command is refused
/// whatever the data is.
pub(crate) fn data_out_bytes(command: &Command, cdb: &Cdb, limits: &Limits, device_blocks: u64) -> u64 {
    let whole_range = || {
        let BlockRange { lba, count, .. } = BlockRange::decode(cdb, command.cdb_usage.len());
        let inside = lba.checked_add(count).is_some_and(|end| end <= device_blocks);
        if inside && count <= u64::from(limits.transfer_blocks) { count * BLOCK } else { 0 }
    };
    match command.operation {
        Operation::Write | Operation::WriteAndVerify | Operation::OrWrite => whole_range(),
        Operation::WriteAtomic => {
            let (lba, count) = write_atomic::range(cdb);
            let inside = lba.checked_add(count).is_some_and(|end| end <= device_blocks);
            if inside && count <= u64::from(limits.atomic_blocks()) { count * BLOCK } else { 0 }
        }
        Operation::Verify => match verify::byte_check(cdb) {
            0b01 => whole_range(),
            0b11 => whole_range().min(BLOCK),
            _ => 0,
        },
        Operation::CompareAndWrite => {
            let count = cdb.byte::<13>();
            if count <= limits.compare_and_write_blocks { u64::from(count) * 2 * BLOCK } else { 0 }
        }
        Operation::WriteSame => {
            if write_same::no_data_out(command, cdb) {
                0
            } else {
                BLOCK
            }
        }
        Operation::Unmap => u64::from(cdb.be16::<7>()),
        Operation::ModeSelect => mode_select::parameter_list_length(command, cdb),
        Operation::Sanitize => sanitize::parameter_list_length(command, cdb),
        Operation::SetTargetPortGroups => set_target_port_groups::parameter_list_length(cdb),
        Operation::ExtendedCopy => {
            let length = u64::from(cdb.be32::<10>());
            if length <= extended_copy::longest_parameter_list(command, limits) { length } else { 0 }
        }
        Operation::PopulateToken | Operation::WriteUsingToken => {
            let longest = match command.operation {
                Operation::PopulateToken => populate_token::longest_parameter_list(limits),
                _ => write_using_token::longest_parameter_list(limits),
            };
            let length = u64::from(cdb.be32::<10>());
            if length <= longest { length } else { 0 }
        }
        Operation::PersistentReserveOutClear
        | Operation::PersistentReserveOutPreempt
        | Operation::PersistentReserveOutRegister
        | Operation::PersistentReserveOutRegisterAndMove
        | Operation::PersistentReserveOutRelease
        | Operation::PersistentReserveOutReserve => {
            let length = persistent_reserve_out::parameter_list_length(cdb);
            if length <= u64::from(limits.persistent_reserve_out_bytes) { length } else { 0 }
        }
        Operation::CopyOperationAbort
        | Operation::GetLbaStatus
        | Operation::Inquiry
        | Operation::LogSense
        | Operation::ModeSense
        | Operation::PersistentReserveInCapabilities
        | Operation::PersistentReserveInFullStatus
        | Operation::PersistentReserveInKeys
        | Operation::PersistentReserveInReservation
        | Operation::PreFetch
        | Operation::PreventAllowMediumRemoval
        | Operation::Read
        | Operation::ReadCapacity10
        | Operation::ReadCapacity16
        | Operation::ReadDefectData
        | Operation::ReceiveCopyDataLid1
        | Operation::ReceiveCopyDataLid4
        | Operation::ReceiveCopyFailureDetails
        | Operation::ReceiveCopyOperatingParameters
        | Operation::ReceiveCopyStatusLid1
        | Operation::ReceiveCopyStatusLid4
        | Operation::ReceiveRodTokenInformation
        | Operation::Release
        | Operation::ReportAllRodTokens
        | Operation::ReportLuns
        | Operation::ReportSupportedOperationCodes
        | Operation::ReportSupportedTaskManagementFunctions
        | Operation::ReportTargetPortGroups
        | Operation::RequestSense
        | Operation::Reserve
        | Operation::SendDiagnostic
        | Operation::StartStopUnit
        | Operation::SynchronizeCache
        | Operation::TestUnitReady => 0,
    }
}
