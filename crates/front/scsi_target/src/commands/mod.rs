//! Commands, one file each: their rows and the code that executes them. A new command is a file and a line in the table
//! [`COMMANDS`]; a command that is not listed does not exist.

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

impl Row {
    const fn new(command: &'static Command, operation: Operation) -> Self {
        Self { command, operation, refused_bits: command.refused_bits() }
    }

    /// As [`Command::validate`], in a few instructions for a CDB that is accepted.
    pub fn validate(&self, cdb: &Cdb) -> Result<(), Fault> {
        if u128::from_le_bytes(cdb.0) & self.refused_bits == 0 { Ok(()) } else { self.command.validate(cdb) }
    }
}

/// Defines the command table and the dispatch of its rows from one list. Each line has a name, the commands that it
/// executes, and the function that executes them; how the function runs is one of
///
/// * `immediate`: not asynchronous,
/// * `inline`: its future is a part of the future of the caller,
/// * `boxed`: its future is allocated. Rare commands with large state are, so that the future of a READ or WRITE
///   stays small.
macro_rules! commands {
    ($($operation:ident: [$($command:path),+ $(,)?] $how:ident $execute:path;)+) => {
        /// Command table, by name: the facts of each command, and the code that executes it.
        const COMMANDS: &[Row] = &[$($(Row::new(&$command, Operation::$operation)),+),+];

        /// Code that executes a command. Commands that differ only in the size of their CDB share one.
        #[derive(Clone, Copy)]
        enum Operation {
            $($operation),+
        }

        /// Executes an admitted command.
        pub(crate) async fn execute<D: BlockDevice + 'static>(
            row: &Row,
            call: &Invocation<'_, D>,
        ) -> Result<Reply, Fault> {
            match row.operation {
                $(Operation::$operation => commands!(@run $how $execute, call)),+
            }
        }
    };
    (@run immediate $execute:path, $call:ident) => { $execute($call) };
    (@run inline $execute:path, $call:ident) => { $execute($call).await };
    (@run boxed $execute:path, $call:ident) => { Box::pin($execute($call)).await };
}

commands! {
    CompareAndWrite: [compare_and_write::COMMAND] boxed compare_and_write::execute;
    CopyOperationAbort: [copy_operation_abort::COMMAND] boxed copy_operation_abort::execute;
    ExtendedCopy: [extended_copy::LID1, extended_copy::LID4] boxed extended_copy::execute;
    GetLbaStatus: [get_lba_status::COMMAND] boxed get_lba_status::execute;
    Inquiry: [inquiry::COMMAND] immediate inquiry::execute;
    LogSense: [log_sense::COMMAND] immediate log_sense::execute;
    ModeSelect: [mode_select::MODE_SELECT_10, mode_select::MODE_SELECT_6] immediate mode_select::execute;
    ModeSense: [mode_sense::MODE_SENSE_10, mode_sense::MODE_SENSE_6] immediate mode_sense::execute;
    OrWrite: [orwrite::COMMAND] boxed orwrite::execute;
    PersistentReserveInFullStatus:
        [persistent_reserve_in::READ_FULL_STATUS] immediate persistent_reserve_in::full_status;
    PersistentReserveInKeys: [persistent_reserve_in::READ_KEYS] immediate persistent_reserve_in::keys;
    PersistentReserveInReservation:
        [persistent_reserve_in::READ_RESERVATION] immediate persistent_reserve_in::reservation;
    PersistentReserveInCapabilities:
        [persistent_reserve_in::REPORT_CAPABILITIES] immediate persistent_reserve_in::capabilities;
    PersistentReserveOut: [
        persistent_reserve_out::clear::COMMAND,
        persistent_reserve_out::preempt::PREEMPT,
        persistent_reserve_out::preempt::PREEMPT_AND_ABORT,
        persistent_reserve_out::register::REGISTER,
        persistent_reserve_out::register::REGISTER_AND_IGNORE_EXISTING_KEY,
        persistent_reserve_out::register_and_move::COMMAND,
        persistent_reserve_out::release::COMMAND,
        persistent_reserve_out::reserve::COMMAND,
    ] boxed persistent_reserve_out::execute;
    PopulateToken: [populate_token::COMMAND] boxed populate_token::execute;
    PreFetch: [pre_fetch::PRE_FETCH_10, pre_fetch::PRE_FETCH_16] immediate pre_fetch::execute;
    PreventAllowMediumRemoval:
        [prevent_allow_medium_removal::COMMAND] immediate prevent_allow_medium_removal::execute;
    Read: [read::READ_10, read::READ_12, read::READ_16, read::READ_6] inline read::execute;
    ReadCapacity10: [read_capacity::READ_CAPACITY_10] immediate read_capacity::execute_10;
    ReadCapacity16: [read_capacity::READ_CAPACITY_16] immediate read_capacity::execute_16;
    ReadDefectData: [
        read_defect_data::READ_DEFECT_DATA_10,
        read_defect_data::READ_DEFECT_DATA_12,
    ] immediate read_defect_data::execute;
    ReceiveCopyData: [
        receive_copy_results::DATA_LID1,
        receive_copy_results::DATA_LID4,
    ] immediate receive_copy_results::data;
    ReceiveCopyFailureDetails:
        [receive_copy_results::FAILURE_DETAILS] immediate receive_copy_results::failure_details;
    ReceiveCopyOperatingParameters:
        [receive_copy_results::OPERATING_PARAMETERS] immediate receive_copy_results::operating_parameters;
    ReceiveCopyStatusLid1: [receive_copy_results::STATUS_LID1] immediate receive_copy_results::status_lid1;
    ReceiveCopyStatusLid4: [receive_copy_results::STATUS_LID4] immediate receive_copy_results::status_lid4;
    ReceiveRodTokenInformation:
        [receive_rod_token_information::COMMAND] immediate receive_rod_token_information::execute;
    Release: [release::COMMAND] immediate release::execute;
    ReportAllRodTokens: [receive_rod_token_information::ALL] immediate receive_rod_token_information::all;
    ReportLuns: [report_luns::COMMAND] immediate report_luns::execute;
    ReportSupportedOperationCodes:
        [report_supported_operation_codes::COMMAND] immediate report_supported_operation_codes::execute;
    ReportSupportedTaskManagementFunctions:
        [report_supported_task_management_functions::COMMAND]
        immediate report_supported_task_management_functions::execute;
    ReportTargetPortGroups: [report_target_port_groups::COMMAND] immediate report_target_port_groups::execute;
    RequestSense: [request_sense::COMMAND] immediate request_sense::execute;
    Reserve: [reserve::COMMAND] boxed reserve::execute;
    Sanitize: [
        sanitize::BLOCK_ERASE,
        sanitize::EXIT_FAILURE_MODE,
        sanitize::OVERWRITE,
    ] boxed sanitize::execute;
    SendDiagnostic: [send_diagnostic::COMMAND] boxed send_diagnostic::execute;
    SetTargetPortGroups: [set_target_port_groups::COMMAND] boxed set_target_port_groups::execute;
    StartStopUnit: [start_stop_unit::COMMAND] boxed start_stop_unit::execute;
    SynchronizeCache: [
        synchronize_cache::SYNCHRONIZE_CACHE_10,
        synchronize_cache::SYNCHRONIZE_CACHE_16,
    ] boxed synchronize_cache::execute;
    TestUnitReady: [test_unit_ready::COMMAND] immediate test_unit_ready::execute;
    Unmap: [unmap::COMMAND] boxed unmap::execute;
    Verify: [verify::VERIFY_10, verify::VERIFY_12, verify::VERIFY_16] boxed verify::execute;
    Write: [write::WRITE_10, write::WRITE_12, write::WRITE_16, write::WRITE_6] inline write::execute;
    WriteAndVerify: [
        write_and_verify::WRITE_AND_VERIFY_10,
        write_and_verify::WRITE_AND_VERIFY_12,
        write_and_verify::WRITE_AND_VERIFY_16,
    ] boxed write_and_verify::execute;
    WriteAtomic: [write_atomic::COMMAND] boxed write_atomic::execute;
    WriteSame: [write_same::WRITE_SAME_10, write_same::WRITE_SAME_16] boxed write_same::execute;
    WriteUsingToken: [write_using_token::COMMAND] boxed write_using_token::execute;
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
            report_luns::list(nexus, cdb)
        }
        WithoutUnit::ListsUnits | WithoutUnit::Refused => Err(Fault::LogicalUnitNotSupported),
    }
}

#[cfg(test)]
mod tests;
