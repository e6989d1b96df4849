//! What limits of quality of service have to know of a command: how they apply to it before it begins, and what
//! offloaded work has cost.
//!
//! Commands that are neither reads and writes nor offload are never delayed: paths are checked, reservations kept and
//! volumes found by them, and they move no content for hosts. (VERIFY reads the medium, and counts as one of them.)

use crate::blocks::BLOCK;
use crate::command::{Command, DataOutQuery};
use crate::commands;
use crate::device::{Arrival, Invocation, ScsiTarget};
use crate::limits::Limits;
use crate::nexus_id::NexusId;
use crate::task_set::TaskAttribute;
use block::{BlockDevice, VolumeId};
use qos::Class;
use scsi::Cdb;
use std::cell::{Cell, OnceCell};
use unit::{Io, Primitive};

/// How limits apply to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limited {
    /// Volume whose limits apply.
    pub volume: VolumeId,
    /// Class of the command. [`Class::Behind`]: it is never delayed for itself.
    pub class: Class,
    /// Bytes that it reads or writes; 0 for offload, which is charged for its work.
    pub bytes: u64,
}

/// Cost of offloaded work beyond the one operation that its command was charged when it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffloadCost {
    /// One operation for each step after the first, and one for each 16 KiB that the array has written. A step is a call
    /// of the device: the copy of as many blocks as the device copies at once, a range of zeros, a range of UNMAP, a range
    /// that a token captures.
    pub operations: u64,
    /// Bytes that the array has read and written. Nothing for blocks that share storage with their source.
    pub bytes: u64,
}

/// Bytes that a step has moved.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moved {
    pub read_bytes: u64,
    pub written_bytes: u64,
}

impl Moved {
    /// Nothing: the step changed metadata only.
    pub const NOTHING: Self = Self { read_bytes: 0, written_bytes: 0 };

    /// A copy that read and wrote as many bytes.
    pub const fn copied(bytes: u64) -> Self {
        Self { read_bytes: bytes, written_bytes: bytes }
    }

    /// Blocks that were written without being read.
    pub const fn written(bytes: u64) -> Self {
        Self { read_bytes: 0, written_bytes: bytes }
    }
}

/// Bytes that the array writes for one operation.
const OPERATION_BYTES: u64 = 16 << 10;

/// Receiver of the costs of offloaded work: nexus that sent the command, volume that was written.
type Charge = Box<dyn Fn(NexusId, VolumeId, OffloadCost)>;

/// Receiver of costs, set once.
#[derive(Default)]
pub(crate) struct Charges(OnceCell<Charge>);

/// Steps of one command.
#[derive(Debug, Default)]
pub(crate) struct Steps(Cell<bool>);

impl Command {
    /// How limits apply to a CDB, and the bytes that it reads or writes. [`Class::Behind`]: it is never delayed.
    fn admission(&self, cdb: &Cdb, limits: &Limits, device_blocks: u64) -> (Class, u64) {
        let query = DataOutQuery { command: self, cdb, limits, device_blocks };
        match (self.io, self.offload) {
            (Some(Io::Read), _) => (Class::Ordinary, query.range_bytes()),
            (Some(Io::Write), _) => (Class::Ordinary, self.data_out_bytes(cdb, limits, device_blocks)),
            (None, Some(Primitive::Ats)) => (Class::Heartbeat, self.data_out_bytes(cdb, limits, device_blocks)),
            (None, Some(_)) => (Class::Ordinary, 0),
            (None, None) => (Class::Behind, 0),
        }
    }
}

/// Class of a command with this attribute. HEAD OF QUEUE goes before others. ORDERED overtakes nothing, even if the
/// command would never be delayed.
const fn ordered(class: Class, attribute: TaskAttribute) -> Option<Class> {
    match (class, attribute) {
        (Class::Behind, TaskAttribute::Ordered) => Some(Class::Behind),
        (Class::Behind, _) | (_, TaskAttribute::Invalid) => None,
        (Class::Heartbeat, TaskAttribute::Ordered) => Some(Class::Ordinary),
        (Class::Ordinary, TaskAttribute::HeadOfQueue) => Some(Class::First),
        (class, _) => Some(class),
    }
}

impl<D: BlockDevice + 'static> ScsiTarget<D> {
    /// How limits apply to a command that has arrived. `None`: it does not wait for any. `expected_data_out`: bytes that
    /// the initiator announced.
    pub fn limited(
        &self,
        cdb: &[u8; 16],
        attribute: TaskAttribute,
        arrival: Arrival,
        expected_data_out: u32,
    ) -> Option<Limited> {
        let volume = arrival.volume?;
        let cdb = Cdb(*cdb);
        let command = commands::find(&cdb).ok()?.command;
        let device_blocks = self.logical_unit(volume)?.unit().block_count();
        let (class, bytes) = command.admission(&cdb, self.limits(), device_blocks);
        let bytes = if command.takes_data() { bytes.min(expected_data_out.into()) } else { bytes };
        Some(Limited { volume, class: ordered(class, attribute)?, bytes })
    }

    /// Sets the receiver of the costs of offloaded work, which is called after each step. The first call counts.
    pub fn charge_to(&self, receiver: impl Fn(NexusId, VolumeId, OffloadCost) + 'static) {
        let _first = self.charges().0.set(Box::new(receiver));
    }
}

impl<D> Invocation<'_, D> {
    /// Charges the host for `steps` steps of offloaded work on a volume, the last of which has just ended.
    pub fn charge(&self, volume: VolumeId, steps: u64, moved: Moved) {
        let Some(receiver) = self.target.charges().0.get() else { return };
        // The first one was charged when the command began.
        let paid = u64::from(!self.steps.0.replace(true));
        let cost = OffloadCost {
            operations: steps.saturating_sub(paid) + moved.written_bytes / OPERATION_BYTES,
            bytes: moved.read_bytes + moved.written_bytes,
        };
        if cost != OffloadCost::default() {
            receiver(self.nexus.id, volume, cost);
        }
    }
}

const _: () = assert!(OPERATION_BYTES.is_multiple_of(BLOCK));
