//! Facts that the device server needs of a command before executing it: one value per command, read
//! by CDB validation, reservation checks, medium checks, offload accounting and REPORT SUPPORTED
//! OPERATION CODES.

use crate::blocks::{BLOCK, BlockRange};
use crate::limits::Limits;
use crate::reply::Reply;
use crate::sense::Fault;
use scsi::{Cdb, FieldPointer};
use unit::Primitive;
use unit::{AccessState, Io, ReservationClass};

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
        self.bytes_of(BlockRange::decode(self.cdb, self.command.cdb_usage.len()))
    }

    /// Bytes of a range; 0 for more blocks than the command's limit, or beyond the end of the medium.
    pub fn bytes_of(&self, range: BlockRange) -> u64 {
        let BlockRange { lba, count, .. } = range;
        let inside = lba.checked_add(count).is_some_and(|end| end <= self.device_blocks);
        if inside && count <= self.command.limit_blocks(self.limits) { count * BLOCK } else { 0 }
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
    /// Byte 0 of the CDB.
    pub opcode: u8,
    /// Bits 4-0 of byte 1, when the operation code has service actions.
    pub service_action: Option<u8>,
    /// CDB usage data, as long as the CDB: byte 0 is the operation code, the service action stands
    /// in its field, and every other set bit is accepted. A CDB with any other bit set is refused.
    /// Accepted without effect: DPO, GROUP NUMBER, and fields that mean nothing to the service action
    /// (SCOPE and TYPE of PERSISTENT RESERVE OUT).
    pub cdb_usage: &'static [u8],
    /// Direction of the data.
    pub data: DataDirection,
    /// Most logical blocks that a CDB may name; `None` without a limit.
    pub limit_blocks: Option<fn(&Limits) -> u64>,
    /// Class against reservations.
    pub reservation_class: ReservationClass,
    /// Predicate for CDBs that need no more than [`ReservationClass::Condition`] (SBC-3, "Reservations").
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

impl Command {
    /// Class of this CDB against reservations.
    pub fn reservation_class_of(&self, cdb: &Cdb) -> ReservationClass {
        if self.harmless.is_some_and(|harmless| harmless(cdb)) {
            ReservationClass::Condition
        } else {
            self.reservation_class
        }
    }

    /// Most logical blocks that a CDB may name.
    pub fn limit_blocks(&self, limits: &Limits) -> u64 {
        self.limit_blocks.map_or(u64::MAX, |limit| limit(limits))
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

    /// Bits that [`Self::validate`] refuses; byte 0 of the CDB is the lowest.
    pub const fn refused_bits(&self) -> u128 {
        let mut bits = 0;
        let mut at = self.cdb_usage.len();
        while at > 1 {
            at -= 1;
            bits = bits << 8 | (!self.cdb_usage[at] & !self.service_action_bits(at)) as u128;
        }
        bits << 8
    }

    /// Bits of byte `at` that hold the service action.
    const fn service_action_bits(&self, at: usize) -> u8 {
        if at == 1 && self.service_action.is_some() { 0x1f } else { 0 }
    }

    /// Refuses reserved bits, and bits of fields that are not supported.
    pub fn validate(&self, cdb: &Cdb) -> Result<(), Fault> {
        for (at, (byte, usage)) in cdb.0.iter().zip(self.cdb_usage).enumerate().skip(1) {
            let unexpected = byte & !(usage | self.service_action_bits(at));
            if unexpected != 0 {
                let at = u16::try_from(at).unwrap_or(u16::MAX);
                let bit = 7u8.saturating_sub(u8::try_from(unexpected.leading_zeros()).unwrap_or(7));
                return Err(Fault::InvalidFieldInCdb(FieldPointer::cdb_bit(at, bit)));
            }
        }
        Ok(())
    }
}
