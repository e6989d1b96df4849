//! Accounting of storage offload: work, latency and refusals of each primitive on each volume.

use crate::latency::LatencyHistogram;
use crate::primitive::Primitive;
use crate::refusals::{Reason, ReasonCounts};
use block::VolumeId;

/// Counters of one primitive on one volume, since the logical unit was added. `commands` = `ok` +
/// `refused` + `miscompares` + `errors`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffloadStatistics {
    /// Commands that reached the logical unit and were answered, without those in whose place a
    /// pending unit attention was reported.
    pub commands: u64,
    /// Commands that completed with GOOD status.
    pub ok: u64,
    /// Commands that were refused.
    pub refused: u64,
    /// COMPARE AND WRITE whose compare failed.
    pub miscompares: u64,
    /// Commands that failed because of the medium.
    pub errors: u64,
    /// Bytes of the volume that completed commands processed.
    pub bytes: u64,
    /// Bytes that the host did not have to transfer: both ways for a copy, one way less the payload
    /// for WRITE SAME.
    pub host_bytes_avoided: u64,
    /// EXTENDED COPY: bytes that now share storage with their source.
    pub cloned_bytes: u64,
    /// EXTENDED COPY: bytes that were read and written.
    pub copied_bytes: u64,
    /// UNMAP: bytes in whole mapping units.
    pub deallocated_bytes: u64,
    /// UNMAP: bytes at the edges, which read as zeros but may stay allocated.
    pub unaligned_bytes: u64,
    /// Latency from admission to completion.
    pub latency: LatencyHistogram,
    /// Reasons of refusals; their sum is `refused`.
    pub refusals: ReasonCounts,
    /// Reasons of failures; their sum is `errors`.
    pub failures: ReasonCounts,
    /// Reasons why completed commands had no benefit; each of these commands is counted in `ok`
    /// too.
    pub ineffective: ReasonCounts,
}

impl OffloadStatistics {
    /// Adds the work of one command.
    pub fn add(&mut self, work: &OffloadWork) {
        self.bytes += work.bytes;
        self.host_bytes_avoided += work.host_bytes_avoided;
        self.cloned_bytes += work.cloned_bytes;
        self.copied_bytes += work.copied_bytes;
        self.deallocated_bytes += work.deallocated_bytes;
        self.unaligned_bytes += work.unaligned_bytes;
    }
}

/// Work of one command.
#[derive(Clone, Debug, Default)]
pub struct OffloadWork {
    /// Volume whose counters get the work; `None`: the one that received the command.
    pub volume: Option<VolumeId>,
    /// Bytes of the volume that the command processed.
    pub bytes: u64,
    /// Bytes that the host did not have to transfer.
    pub host_bytes_avoided: u64,
    /// Bytes that now share storage with their source.
    pub cloned_bytes: u64,
    /// Bytes that were read and written.
    pub copied_bytes: u64,
    /// Bytes in whole mapping units that were deallocated.
    pub deallocated_bytes: u64,
    /// Bytes at the edges, which may stay allocated.
    pub unaligned_bytes: u64,
    /// Reason why the completed command had no benefit.
    pub not_offloaded: Option<(Reason, String)>,
}

/// Counters of one primitive on one volume, with names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeOffload {
    /// The volume.
    pub volume: VolumeId,
    /// Name of the volume; of a deleted volume, its last name.
    pub name: String,
    /// True when the volume was deleted.
    pub deleted: bool,
    /// Primitive.
    pub primitive: Primitive,
    /// Counters.
    pub statistics: OffloadStatistics,
}
