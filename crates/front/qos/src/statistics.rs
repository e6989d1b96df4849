//! Delays of commands by limits, and costs that were charged.

use crate::regulator::HostId;
use block::VolumeId;
use rustc_hash::FxHashMap;
use std::time::Duration;

/// Delays and charged costs of the volumes and hosts that have a policy. A command is charged to its volume and to its
/// host; its delay counts for the one whose limits held it back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// By volume, for commands of all hosts.
    pub volumes: FxHashMap<VolumeId, Held>,
    /// By host, for commands to all volumes.
    pub hosts: FxHashMap<HostId, Held>,
}

/// Commands that waited for limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Commands that have waited and then began.
    pub commands: u64,
    /// Time that they waited, together.
    pub time: Duration,
    /// Commands that wait now.
    pub waiting: u64,
    /// Time that the oldest of them has waited.
    pub oldest: Duration,
    /// Cost of all commands, also of those that did not wait.
    pub charged: Charged,
}

/// Costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charged {
    /// Operations of reads and writes.
    pub operations: u64,
    /// Bytes of reads and writes.
    pub bytes: u64,
    /// Operations of offloaded work, charged after its end.
    pub offload_operations: u64,
    /// Bytes that offloaded work read and wrote.
    pub offload_bytes: u64,
}
