//! Request, response, and the context in which the code of a command runs.

use super::ScsiTarget;
use crate::blocks::{BLOCK, BlockRange};
use crate::charges::{Moved, Steps};
use crate::command::Command;
use crate::copies::{self, Running};
use crate::logical_unit::LogicalUnit;
use crate::nexus::Nexus;
use crate::observed::Seen;
use crate::sense::Fault;
use crate::task_set::{TaskAttribute, TaskGuard};
use block::{BlockDevice, Durability, Extent, VolumeId};
use bytes::Bytes;
use scsi::third_party_copy::TransferCountUnits;
use scsi::{Cdb, FieldPointer};
use std::cell::RefCell;
use unit::{AbortFlag, Room, Unit};

/// Command as the transport received it.
#[derive(Clone, Debug)]
pub struct Request {
    /// CDB; bytes after a shorter CDB are ignored.
    pub cdb: [u8; 16],
    /// Data-Out, as much as [`ScsiTarget::data_out_bytes`] asked for.
    pub data_out: Bytes,
    /// Most bytes of Data-In that the initiator expects (R bit and Expected Data Transfer Length,
    /// RFC 7143 §11.3).
    pub expected_data_in: u32,
    /// Bytes of Data-Out that the initiator announced.
    pub expected_data_out: u32,
    /// Task attribute.
    pub attribute: TaskAttribute,
    /// Set when the command is aborted.
    pub abort: AbortFlag,
}

/// Logical unit that was at a LUN when a command arrived. The command is for that logical unit,
/// even if its Data-Out arrives later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Volume of the logical unit; `None` if there was none.
    pub volume: Option<VolumeId>,
    /// Content generation of the logical unit; 0 if there was none.
    pub content_generation: u64,
}

/// Response that the transport sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status code, SAM-5 §5.3.1.
    pub status: u8,
    /// Sense data in fixed format; empty when the status carries none.
    pub sense: Vec<u8>,
    /// Data-In. It may be longer than the initiator expects; the transport truncates it.
    pub data_in: Bytes,
    /// Bytes that the command wanted to move in its one direction. The residual count is the
    /// difference from the expected length: larger is an overflow, smaller an underflow. For a
    /// command that failed: 0, or the Data-Out that its CDB asks for.
    pub transfer_bytes: u64,
}

/// Admitted command: reserved bits, reservation and medium are checked.
pub(crate) struct Invocation<'a, D> {
    pub target: &'a ScsiTarget<D>,
    pub nexus: &'a Nexus<D>,
    pub logical_unit: &'a LogicalUnit<D>,
    pub command: &'static Command,
    pub cdb: Cdb,
    pub request: Request,
    /// [`Unit::content_generation`] when the command began.
    pub content_generation: u64,
    /// Place of the command in the task set.
    place: RefCell<Option<TaskGuard>>,
    /// Steps that were charged.
    steps: Steps,
}

impl<'a, D> Invocation<'a, D> {
    /// Notes that the host has looked at the logical unit.
    pub fn looked(&self, seen: Seen) {
        if let Some(path) = self.nexus.find(|unit| std::ptr::eq(unit, self.logical_unit)) {
            self.nexus.observations.looked(&path.seen, seen, self.target.now_ns());
        }
    }

    /// Admitted command. `place`: its place in the task set, if it has one.
    pub fn new(
        target: &'a ScsiTarget<D>,
        nexus: &'a Nexus<D>,
        logical_unit: &'a LogicalUnit<D>,
        command: &'static Command,
        request: Request,
        content_generation: u64,
        place: Option<TaskGuard>,
    ) -> Self {
        let cdb = Cdb(request.cdb);
        let (place, steps) = (RefCell::new(place), Steps::default());
        Self { target, nexus, logical_unit, command, cdb, request, content_generation, place, steps }
    }
}

impl<D: BlockDevice> Invocation<'_, D> {
    /// Returns the blocks of `range`, if they lie inside the logical unit and are at most the command's limit.
    pub fn checked_extent(&self, range: BlockRange) -> Result<Extent, Fault> {
        let extent = self.logical_unit.checked_range(range.lba, range.count)?;
        let limit = self.command.limit_blocks(self.target.limits());
        if range.count > limit {
            return Err(Fault::AboveLimit { requested: range.count, limit, at: FieldPointer::cdb(range.count_at) });
        }
        Ok(extent)
    }
}

impl<D> Invocation<'_, D> {
    /// State of the volume, shared with other protocols.
    pub fn unit(&self) -> &Unit<D> {
        self.logical_unit.unit()
    }

    /// Charges the host for `steps` steps of offloaded work on a volume, the last of which has just ended.
    pub fn charge(&self, volume: VolumeId, steps: u64, moved: Moved) {
        self.target.charges().charge(self.nexus.id, volume, &self.steps, steps, moved);
    }

    /// Waits for the limits of the host and the volume before a step that is not the first one of offloaded work, or
    /// until the command is aborted. To be called with nothing held that other commands need.
    pub async fn wait_for_limits(&self) {
        self.target.charges().next_step(self.nexus.id, self.volume(), &self.steps, &self.request.abort).await;
    }

    /// LBA and count, at the positions of READ and WRITE.
    pub fn range(&self) -> BlockRange {
        BlockRange::decode(&self.cdb, self.command.cdb_usage.len())
    }

    /// Lets ORDERED commands after this one continue before it ends. Used by a command that has
    /// taken effect and waits for commands that may wait for those.
    pub fn leave_task_set(&self) {
        self.place.take();
    }

    /// Waits for memory for `blocks` blocks besides the command's Data-In and Data-Out. To be
    /// called with the needed locks held, and to be released after a few calls of the device.
    pub async fn working_room(&self, blocks: u64) -> Room<'_> {
        self.target.units().working_memory().room(self.nexus.id.client(), blocks).await
    }

    pub fn volume(&self) -> VolumeId {
        self.unit().volume()
    }

    /// Checks whether the next step of a multi-step command may run. To be called before each step,
    /// with no await between check and step: much time may have passed since admission.
    ///
    /// * `TaskAborted`: the command was aborted.
    /// * `LogicalUnitNotSupported`: the nexus no longer sees the logical unit.
    /// * `SanitizeInProgress`, `SanitizeFailed`: the logical unit is being sanitized.
    /// * COMMANDS CLEARED BY DEVICE SERVER: a roll-back or a sanitize operation has replaced the
    ///   content.
    pub fn check_step(&self) -> Result<(), Fault> {
        if self.request.abort.is_set() {
            return Err(Fault::TaskAborted);
        }
        if !self.nexus.sees(self.logical_unit) {
            return Err(Fault::LogicalUnitNotSupported);
        }
        self.unit().sanitize.check()?;
        self.logical_unit.check_content(self.content_generation)
    }

    /// Begins a third-party copy operation, which this command may continue in the background.
    pub fn start_copy(&self, list_id: u32, units: TransferCountUnits) -> Result<Running, Fault> {
        let operation = copies::Operation {
            service_action: self.command.service_action.unwrap_or_default(),
            units,
            received_on: self.unit().volume(),
            abort: self.request.abort.clone(),
        };
        let limit = usize::from(self.target.limits().copy.maximum_concurrent_copies);
        self.nexus.copies.start(list_id, operation, limit)
    }

    /// FUA of a READ, WRITE or COMPARE AND WRITE (bit 3 of byte 1; 6-byte CDBs have none).
    pub fn force_unit_access(&self) -> bool {
        self.command.cdb_usage.len() > 6 && self.cdb.bit::<1>(0x08)
    }

    /// Durability of this command's writes: before the response with FUA, else as the unit is
    /// configured.
    pub fn durability(&self) -> Durability {
        if self.force_unit_access() { Durability::Forced } else { Durability::AsConfigured }
    }

    /// Returns exactly `needed_bytes` of Data-Out. The transport has to expect exactly as many: a
    /// command that is atomic or describes itself is not executed in part. `at`: CDB field that
    /// determines the length.
    pub fn exact_data_out(&self, needed_bytes: u64, at: FieldPointer) -> Result<Bytes, Fault> {
        let expected_bytes = u64::from(self.request.expected_data_out);
        if expected_bytes != needed_bytes {
            return Err(Fault::DataOutLength { expected_bytes, needed_bytes, at });
        }
        self.arrived(needed_bytes)
    }

    /// Returns the Data-Out of a medium access that needs `needed_bytes`. When the transport
    /// expects less, the command works on the expected part (RFC 7143 §11.4.5.1 reports the rest as
    /// overflow); a partial block is refused.
    pub fn block_data_out(&self, needed_bytes: u64) -> Result<Bytes, Fault> {
        let expected_bytes = u64::from(self.request.expected_data_out);
        if expected_bytes >= needed_bytes {
            return self.arrived(needed_bytes);
        }
        if !expected_bytes.is_multiple_of(BLOCK) {
            return Err(Fault::PartialBlock { expected_bytes });
        }
        self.arrived(expected_bytes)
    }

    /// Returns a parameter list of the length in the CDB.
    pub fn parameter_list(&self, length: impl Into<u64>) -> Result<Bytes, Fault> {
        let needed_bytes = length.into();
        let given_bytes = u64::from(self.request.expected_data_out);
        if given_bytes < needed_bytes {
            return Err(Fault::ParameterListLength { given_bytes, needed_bytes });
        }
        self.arrived(needed_bytes)
    }

    fn arrived(&self, needed_bytes: u64) -> Result<Bytes, Fault> {
        let data = &self.request.data_out;
        match usize::try_from(needed_bytes) {
            Ok(needed) if needed <= data.len() => Ok(data.slice(..needed)),
            _ => Err(Fault::DataOutMissing { arrived_bytes: data.len() as u64, needed_bytes }),
        }
    }
}
