//! Limits of quality of service, as offloaded work meets them: its steps wait, and are charged what they have cost.

use crate::nexus_id::NexusId;
use block::VolumeId;
use futures_util::future::LocalBoxFuture;
use std::cell::{Cell, OnceCell};
use unit::AbortFlag;

/// Limits of hosts and volumes. The volume is the one that received the command, and whose limits it waited for.
pub trait OffloadLimits {
    /// Charges a nexus for a step that has just ended.
    fn charge(&self, nexus: NexusId, volume: VolumeId, cost: OffloadCost);

    /// Asks for one operation more of a command that has begun. `None`: it may go on. Otherwise ready when it may, or
    /// when the command is aborted.
    fn next_step(&self, nexus: NexusId, volume: VolumeId, abort: &AbortFlag) -> Option<LocalBoxFuture<'static, ()>>;
}

/// Cost of offloaded work beyond the operations that its command has asked for: one when it began, and one for each
/// [`OffloadLimits::next_step`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffloadCost {
    /// One operation for each step that was not asked for, and one for each 16 KiB that the array has written. A step
    /// is a call of the device: the copy of as many blocks as the device copies at once, a range of zeros, a range of
    /// UNMAP, a range that a token captures.
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

/// Limits, set once.
#[derive(Default)]
pub(crate) struct Charges(OnceCell<Box<dyn OffloadLimits>>);

impl Charges {
    /// Sets the limits. The first call counts.
    pub fn set(&self, limits: Box<dyn OffloadLimits>) {
        let _first = self.0.set(limits);
    }

    /// Charges `steps` steps of a command, the last of which has just ended.
    pub fn charge(&self, nexus: NexusId, volume: VolumeId, of: &Steps, steps: u64, moved: Moved) {
        let Some(limits) = self.0.get() else { return };
        let cost = OffloadCost {
            operations: of.take_unpaid(steps) + moved.written_bytes / OPERATION_BYTES,
            bytes: moved.read_bytes + moved.written_bytes,
        };
        if cost != OffloadCost::default() {
            limits.charge(nexus, volume, cost);
        }
    }

    /// Waits until the next step of a command may begin.
    pub async fn next_step(&self, nexus: NexusId, volume: VolumeId, of: &Steps, abort: &AbortFlag) {
        let Some(limits) = self.0.get() else { return };
        if let Some(wait) = limits.next_step(nexus, volume, abort) {
            wait.await;
        }
        of.pay();
    }
}

/// Steps of one command: how many of those to come are paid for.
#[derive(Debug)]
pub(crate) struct Steps(Cell<u64>);

impl Default for Steps {
    /// The first one was charged when the command began.
    fn default() -> Self {
        Self(Cell::new(1))
    }
}

impl Steps {
    fn pay(&self) {
        self.0.set(self.0.get() + 1);
    }

    /// Number of steps that are not paid for, of those that have ended.
    fn take_unpaid(&self, steps: u64) -> u64 {
        let paid = self.0.get().min(steps);
        self.0.set(self.0.get() - paid);
        steps - paid
    }
}
