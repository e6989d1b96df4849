//! Facts that the device server needs of a command before executing it: one value per command, read
//! by CDB validation, reservation checks, medium checks, offload accounting and REPORT SUPPORTED
//! OPERATION CODES.

use crate::commands::{COMMANDS, Operation};
use crate::device::invocation::{BLOCK, Reply};
use crate::limits::Limits;
use crate::logical_unit::BlockRange;
use crate::sense::Fault;
use scsi::{Cdb, FieldPointer};
use unit::Primitive;
use unit::{Access, AccessState, Io};

/// Direction of parameter data or block data.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DataDirection {
    /// No data.
    None,
    /// Data-In, to the initiator.
    In,
    /// Data-Out, from the initiator, with its amount.
    Out(DataOut),
}

/// Amount of Data-Out that a CDB asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DataOut {
    /// Blocks of LBA and count, at the positions of READ and WRITE.
    Range,
    /// Bytes by a rule of the command. 0 when the CDB asks for more than a limit or the medium
    /// allows: such a command is refused whatever its data.
    Of(fn(&DataOutQuery<'_>) -> u64),
}

/// Arguments of [`DataOut::Of`].
pub(crate) struct DataOutQuery<'a> {
    pub command: &'a Command,
    pub cdb: &'a Cdb,
    pub limits: &'a Limits,
    /// Size of the logical unit.
    pub device_blocks: u64,
}

impl DataOutQuery<'_> {
    /// Bytes of the blocks that LBA and count name, at the positions of READ and WRITE.
    pub fn range_bytes(&self) -> u64 {
        let BlockRange { lba, count, .. } = BlockRange::decode(self.cdb, self.command.cdb_usage.len());
        self.block_bytes(lba, count, self.limits.transfer_blocks)
    }

    /// Bytes of `count` blocks; 0 for more than `limit`, or beyond the end of the medium.
    pub fn block_bytes(&self, lba: u64, count: u64, limit: u32) -> u64 {
        let inside = lba.checked_add(count).is_some_and(|end| end <= self.device_blocks);
        if inside && count <= u64::from(limit) { count * BLOCK } else { 0 }
    }
}

/// Response at a LUN without a logical unit (SPC-4 §6.6.1, §6.33; SAM-5 §4.7.4).
#[derive(Clone, Copy, Debug)]
pub(crate) enum WithoutUnit {
    /// LOGICAL UNIT NOT SUPPORTED.
    Refused,
    /// Parameter data that reports the absence.
    Answered(fn(&Cdb) -> Result<Reply, Fault>),
    /// REPORT LUNS is executed at LUN 0.
    ListsUnits,
}

/// Condition under which a command exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exists {
    /// None.
    Always,
    /// The administrator lets initiators change access states.
    WithExplicitAccess,
}

/// State of the medium that the command requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Works without a medium.
    NotNeeded,
    /// The medium has to be loaded.
    Present,
    /// The medium has to be loaded and writable.
    Writable,
}

/// Effect of a pending unit attention on the command, SAM-5 §5.14.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitAttention {
    /// It is reported instead of executing the command.
    Reported,
    /// The command is executed and the condition stays pending.
    Kept,
}

/// Facts of a command.
#[derive(Debug)]
pub(crate) struct Command {
    /// Name in the standard.
    pub name: &'static str,
    /// What executes it.
    pub operation: Operation,
    /// Byte 0 of the CDB.
    pub opcode: u8,
    /// Bits 4-0 of byte 1, when the operation code has service actions.
    pub service_action: Option<u8>,
    /// CDB usage data, as long as the CDB: byte 0 is the operation code, the service action stands
    /// in its field, and every other set bit is one that the command evaluates. A CDB with any
    /// other bit set is refused. GROUP NUMBER is accepted and has no effect.
    pub cdb_usage: &'static [u8],
    /// Direction of the data.
    pub data: DataDirection,
    /// Access class against reservations.
    pub access: Access,
    /// Predicate for CDBs that need no more than [`Access::Condition`] (SBC-3, "Reservations").
    pub harmless: Option<fn(&Cdb) -> bool>,
    /// A reservation waits until the whole command has ended. Commands that check the reservation
    /// again at each step are waited for step by step; SANITIZE waits itself for the commands
    /// before it.
    pub awaited: bool,
    /// Requirement on the medium.
    pub medium: Medium,
    /// Treatment of a pending unit attention.
    pub unit_attention: UnitAttention,
    /// Worst access state of a port in which the command is executed. SPC-4 §5.15.2.4 names the
    /// commands that every state has to execute; in addition a port in standby or unavailable
    /// executes the commands that ESXi sends there: TEST UNIT READY, READ CAPACITY, MODE SENSE,
    /// RESERVE, RELEASE.
    pub works_down_to: AccessState,
    /// Executed while a sanitize operation is in progress or has failed (SBC-4 §4.11.2): the
    /// command reports about the device server itself, or is SANITIZE, which checks this itself.
    pub while_sanitizing: bool,
    /// Response where there is no logical unit.
    pub without_unit: WithoutUnit,
    /// Condition under which the command exists.
    pub exists: Exists,
    /// Class in the statistics of reads and writes.
    pub io: Option<Io>,
    /// Offload primitive under which the command is counted.
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

    /// Needs of this CDB against reservations.
    pub fn access_of(&self, cdb: &Cdb) -> Access {
        if self.harmless.is_some_and(|harmless| harmless(cdb)) { Access::Condition } else { self.access }
    }

    /// Whether the command's latency is recorded.
    pub const fn is_timed(&self) -> bool {
        self.offload.is_some() || self.io.is_some()
    }

    /// Whether the command has Data-Out.
    pub const fn takes_data(&self) -> bool {
        matches!(self.data, DataDirection::Out(_))
    }

    /// Bytes of Data-Out that a CDB asks for.
    pub fn data_out_bytes(&self, cdb: &Cdb, limits: &Limits, device_blocks: u64) -> u64 {
        let query = DataOutQuery { command: self, cdb, limits, device_blocks };
        match self.data {
            DataDirection::None | DataDirection::In => 0,
            DataDirection::Out(DataOut::Range) => query.range_bytes(),
            DataDirection::Out(DataOut::Of(rule)) => rule(&query),
        }
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
    fn the_facts_of_a_row_agree() {
        let by_steps = ["EXTENDED COPY", "SANITIZE", "WRITE USING TOKEN"];
        for row in COMMANDS {
            let name = row.name;
            let (writes, needs_none) = (row.access == Access::Write, row.medium == Medium::NotNeeded);
            match row.io {
                Some(Io::Read) => assert!(row.access == Access::Read && !row.takes_data() && !needs_none, "{name}"),
                Some(Io::Write) => assert!(writes && row.takes_data() && row.medium == Medium::Writable, "{name}"),
                None => {}
            }
            assert_eq!(row.awaited, writes && !by_steps.iter().any(|steps| name.starts_with(steps)), "{name}");
            assert!(row.offload.is_none() || row.takes_data(), "{name}");
            assert!(row.harmless.is_none() || row.access == Access::Control, "{name}");
            assert!(!row.while_sanitizing || needs_none, "{name}");
            assert!(row.works_down_to < AccessState::Transitioning || needs_none, "{name}");
            let alone = !matches!(row.without_unit, WithoutUnit::Refused);
            assert!(!alone || row.unit_attention == UnitAttention::Kept && row.access == Access::Always, "{name}");
        }
    }

    /// Nothing that a CDB says makes the transport buffer more than a transfer of the largest size.
    #[test]
    fn no_cdb_asks_for_more_data_than_the_limits_allow() {
        let limits = Limits::default();
        let most = u64::from(limits.transfer_blocks) * BLOCK;
        for row in COMMANDS {
            for fill in [0x00, 0x01, 0x55, 0x80, 0xff] {
                let mut cdb = [0; 16];
                cdb.iter_mut().zip(row.cdb_usage).for_each(|(byte, usage)| *byte = usage & fill);
                cdb[0] = row.opcode;
                cdb[1] = row.service_action.unwrap_or(cdb[1]);
                let bytes = row.data_out_bytes(&Cdb(cdb), &limits, u64::MAX);
                assert!(bytes <= most && (row.takes_data() || bytes == 0), "{}: {bytes}", row.name);
            }
        }
    }

    /// SPC-4 §5.15.2.4, what ESXi asks of a standby port, and SBC-4 §4.11.2.
    #[test]
    fn rows_work_where_the_standards_say() {
        let starting = |words: &[&'static str]| -> Vec<&'static str> {
            let named = |row: &&&Command| words.iter().any(|word| row.name.starts_with(word));
            COMMANDS.iter().filter(named).map(|row| row.name).collect()
        };
        let down_to = |state: AccessState| -> Vec<&'static str> {
            COMMANDS.iter().filter(|row| row.works_down_to == state).map(|row| row.name).collect()
        };
        let always = ["INQUIRY", "REPORT LUNS", "REPORT TARGET", "REQUEST SENSE", "SET TARGET"];
        assert_eq!(down_to(AccessState::Transitioning), starting(&always));
        let probes = ["MODE SENSE", "READ CAPACITY", "RELEASE", "REPORT SUPPORTED", "RESERVE", "TEST UNIT READY"];
        assert_eq!(down_to(AccessState::Unavailable), starting(&probes));
        let standby = ["LOG SENSE", "MODE SELECT", "PERSISTENT RESERVE", "SEND DIAGNOSTIC"];
        assert_eq!(down_to(AccessState::Standby), starting(&standby));
        assert_eq!(down_to(AccessState::ActiveOptimized), [""; 0]);
        let while_sanitizing: Vec<_> = COMMANDS.iter().filter(|row| row.while_sanitizing).map(|row| row.name).collect();
        let reports = [&always[..], &["LOG SENSE", "MODE SENSE", "REPORT SUPPORTED", "SANITIZE"]].concat();
        assert_eq!(while_sanitizing, starting(&reports));
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
