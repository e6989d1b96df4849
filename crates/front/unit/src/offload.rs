//! Accounting of storage offload: work, latency and refusals of each primitive on each volume.

use crate::refusals::{Reason, ReasonCounts};
use crate::statistics::LatencyHistogram;
use block::VolumeId;
use std::fmt;

/// An offload primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Primitive {
    /// COMPARE AND WRITE.
    Ats,
    /// EXTENDED COPY.
    Xcopy,
    /// WRITE SAME.
    Zero,
    /// UNMAP.
    Unmap,
}

impl Primitive {
    /// How many there are.
    pub const COUNT: usize = 4;
    /// All of them, in the order of every table.
    pub const ALL: [Self; Self::COUNT] = [Self::Ats, Self::Xcopy, Self::Zero, Self::Unmap];

    /// The name in counters, log and API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ats => "ats",
            Self::Xcopy => "xcopy",
            Self::Zero => "zero",
            Self::Unmap => "unmap",
        }
    }

    /// The primitive's element of a table with one for each.
    pub fn of_mut<T>(self, table: &mut [T; Self::COUNT]) -> &mut T {
        let [ats, xcopy, zero, unmap] = table;
        match self {
            Self::Ats => ats,
            Self::Xcopy => xcopy,
            Self::Zero => zero,
            Self::Unmap => unmap,
        }
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Counters of one primitive on one volume, since the logical unit was added. `commands` is the sum of `ok`, `refused`, `miscompares`
/// and `errors`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OffloadStatistics {
    /// Commands, without those answered with a unit attention.
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
    /// Why commands completed without the benefit; each of them is counted in `ok` too.
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
    /// The primitive.
    pub primitive: Primitive,
    /// Counters.
    pub statistics: OffloadStatistics,
}
