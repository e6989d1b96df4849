//! What the device server knows of a command before executing it: one row per command, read by CDB validation, reservation checks,
//! medium checks, offload accounting and REPORT SUPPORTED OPERATION CODES.

use crate::commands::COMMANDS;
use crate::sense::Fault;
use scsi::{Cdb, FieldPointer};
use unit::Access;
use unit::Primitive;

/// Which way parameter or block data moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataDirection {
    /// No data.
    None,
    /// Data-In, to the initiator.
    In,
    /// Data-Out, from the initiator.
    Out,
}

/// What the command needs of the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Works without a medium.
    NotNeeded,
    /// The medium has to be there.
    Present,
    /// The medium has to be there and writable.
    Writable,
}

/// How a pending unit attention meets the command, SAM-5 §5.14.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitAttention {
    /// It is reported instead of executing the command.
    Reported,
    /// The command is executed and the condition stays pending.
    Kept,
}

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

/// A row of the command table.
#[derive(Debug)]
pub(crate) struct Command {
    /// The standard's name.
    pub name: &'static str,
    /// What executes it.
    pub operation: Operation,
    /// Byte 0 of the CDB.
    pub opcode: u8,
    /// Bits 4-0 of byte 1, when the operation code has service actions.
    pub service_action: Option<u8>,
    /// CDB usage data: its length is that of the CDB, byte 0 is the operation code, a set bit is looked at; the service action stands
    /// in its field. A CDB with a bit set that is clear here is refused. GROUP NUMBER is taken and has no effect.
    pub cdb_usage: &'static [u8],
    /// Which way data moves.
    pub data: DataDirection,
    /// Against reservations.
    pub access: Access,
    /// Against the medium.
    pub medium: Medium,
    /// Against unit attentions.
    pub unit_attention: UnitAttention,
    /// The offload primitive that it is accounted under.
    pub offload: Option<Primitive>,
}

const NO_ROW: u8 = 0xff;

/// First row of each operation code, or [`NO_ROW`].
static FIRST_ROW: [u8; 256] = {
    assert!(COMMANDS.len() < NO_ROW as usize);
    let mut first = [NO_ROW; 256];
    let mut row = COMMANDS.len();
    while row > 0 {
        row -= 1;
        first[COMMANDS[row].opcode as usize] = row as u8;
    }
    first
};

impl Command {
    /// The row of a CDB. An unknown operation code and an unknown service action are different faults.
    pub fn find(cdb: &Cdb) -> Result<&'static Self, Fault> {
        let opcode = cdb.opcode();
        let row = FIRST_ROW.get(usize::from(opcode)).copied().unwrap_or(NO_ROW);
        let first: &'static Self = *COMMANDS.get(usize::from(row)).ok_or(Fault::InvalidOperationCode)?;
        if first.service_action.is_none() {
            return Ok(first);
        }
        Self::with_service_action(opcode, cdb.service_action())
            .ok_or(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(1, 4)))
    }

    /// The row with this operation code and service action.
    pub fn with_service_action(opcode: u8, service_action: u8) -> Option<&'static Self> {
        COMMANDS.iter().copied().find(|row| row.opcode == opcode && row.service_action == Some(service_action))
    }

    /// What this CDB needs of a reserved logical unit: that of the row, but allowing removal and starting conflict with nothing
    /// persistent (SBC-3, "Reservations").
    pub fn access_of(&self, cdb: &Cdb) -> Access {
        let harmless = match self.operation {
            Operation::PreventAllowMediumRemoval => cdb.byte::<4>() & 0x03 == 0,
            Operation::StartStopUnit => cdb.byte::<4>() & 0xf1 == 0x01,
            _ => false,
        };
        if harmless { Access::Condition } else { self.access }
    }

    /// Whether a reservation waits for the whole of the command. A sanitize operation waits for those before it, so its own command is not one of
    /// them; copies ask anew at each step, and are waited for step by step.
    pub const fn is_write_in_flight(&self) -> bool {
        let by_itself =
            matches!(self.operation, Operation::Sanitize | Operation::ExtendedCopy | Operation::WriteUsingToken);
        matches!(self.access, Access::Write) && !by_itself
    }

    /// Whether the command is executed while a sanitize operation is in progress or has failed (SBC-4 §4.11.2): those that tell about the device server
    /// itself, and SANITIZE, which decides for itself.
    pub const fn works_while_sanitizing(&self) -> bool {
        matches!(
            self.operation,
            Operation::Inquiry
                | Operation::LogSense
                | Operation::ModeSense
                | Operation::ReportLuns
                | Operation::ReportSupportedOperationCodes
                | Operation::ReportSupportedTaskManagementFunctions
                | Operation::ReportTargetPortGroups
                | Operation::RequestSense
                | Operation::Sanitize
                | Operation::SetTargetPortGroups
        )
    }

    /// Refuses reserved bits, and bits of fields that are not supported.
    pub fn validate(&self, cdb: &Cdb) -> Result<(), Fault> {
        for (at, (byte, usage)) in cdb.0.iter().zip(self.cdb_usage).enumerate().skip(1) {
            let service_action = if at == 1 && self.service_action.is_some() { 0x1f } else { 0 };
            let unexpected = byte & !(usage | service_action);
            if unexpected != 0 {
                let at = u16::try_from(at).unwrap_or(u16::MAX);
                let bit = 7u8.saturating_sub(u8::try_from(unexpected.leading_zeros()).unwrap_or(7));
                return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(at, bit)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_own_cdb() {
        for row in COMMANDS {
            let mut cdb = [0; 16];
            cdb[0] = row.opcode;
            cdb[1] = row.service_action.unwrap_or(0);
            let found = Command::find(&Cdb(cdb)).expect("each row is found");
            assert_eq!(found.name, row.name);
            assert!(row.validate(&Cdb(cdb)).is_ok(), "{}", row.name);
        }
    }

    #[test]
    fn rows_are_in_alphabetical_order_and_well_formed() {
        let names: Vec<_> = COMMANDS.iter().map(|row| row.name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(names, sorted);
        for row in COMMANDS {
            assert_eq!(row.cdb_usage.first(), Some(&row.opcode), "{}", row.name);
            assert!(matches!(row.cdb_usage.len(), 6 | 10 | 12 | 16), "{}", row.name);
            let length_by_group = match row.opcode >> 5 {
                0 => 6,
                1 | 2 => 10,
                4 => 16,
                _ => 12,
            };
            assert_eq!(row.cdb_usage.len(), length_by_group, "{}", row.name);
            if let Some(service_action) = row.service_action {
                assert_eq!(row.cdb_usage.get(1).map(|byte| byte & 0x1f), Some(service_action), "{}", row.name);
            }
        }
    }

    #[test]
    fn a_reserved_bit_is_refused_with_its_position() {
        let mut cdb = [0; 16];
        cdb[0] = scsi::opcode::READ_16;
        cdb[1] = 0x20;
        let row = Command::find(&Cdb(cdb)).expect("READ (16) is there");
        let Err(Fault::InvalidFieldInCdb(at)) = row.validate(&Cdb(cdb)) else { panic!("RDPROTECT was accepted") };
        assert_eq!(at, FieldPointer::cdb_bit(1, 5));
    }

    #[test]
    fn an_unknown_service_action_is_an_invalid_field() {
        let mut cdb = [0; 16];
        cdb[0] = scsi::opcode::THIRD_PARTY_COPY_OUT;
        cdb[1] = 0x1f;
        assert!(matches!(Command::find(&Cdb(cdb)), Err(Fault::InvalidFieldInCdb(_))));
        cdb[0] = 0xe7;
        assert!(matches!(Command::find(&Cdb(cdb)), Err(Fault::InvalidOperationCode)));
    }
}
