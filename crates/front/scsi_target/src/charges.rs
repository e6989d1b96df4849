//! What offloaded work has cost, for limits of quality of service.

use crate::nexus_id::NexusId;
use block::VolumeId;
use std::cell::{Cell, OnceCell};

/// Cost of offloaded work beyond the one operation that its command was charged when it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffloadCost {
    /// One operation for each step after the first, and one for each 16 KiB that the array has written. A step is a
    /// call of the device: the copy of as many blocks as the device copies at once, a range of zeros, a range of UNMAP,
    /// a range that a token captures.
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

/// Receiver of the costs of offloaded work: nexus that sent the command, volume that received it and whose limits it
/// waited for.
type Charge = Box<dyn Fn(NexusId, VolumeId, OffloadCost)>;

/// Receiver of costs, set once.
#[derive(Default)]
pub(crate) struct Charges(OnceCell<Charge>);

impl Charges {
    /// Sets the receiver. The first call counts.
    pub fn set(&self, receiver: Charge) {
        let _first = self.0.set(receiver);
    }

    /// Charges `steps` steps of a command, the last of which has just ended.
    pub fn charge(&self, nexus: NexusId, volume: VolumeId, of: &Steps, steps: u64, moved: Moved) {
        let Some(receiver) = self.0.get() else { return };
        // The first one was charged when the command began.
        let paid = u64::from(!of.0.replace(true));
        let cost = OffloadCost {
            operations: steps.saturating_sub(paid) + moved.written_bytes / OPERATION_BYTES,
            bytes: moved.read_bytes + moved.written_bytes,
        };
        if cost != OffloadCost::default() {
            receiver(nexus, volume, cost);
        }
    }
}

/// Steps of one command.
#[derive(Debug, Default)]
pub(crate) struct Steps(Cell<bool>);
