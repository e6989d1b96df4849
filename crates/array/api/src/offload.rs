//! Offload: what each primitive did for each volume, and each command that was refused.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// One primitive on one volume, since the array started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OffloadStatistics {
    /// The volume's name; `(deleted)` when it is gone.
    pub volume: String,
    /// `ats`, `xcopy`, `zero` or `unmap`.
    pub primitive: String,
    /// Commands received.
    pub commands: u64,
    /// Commands that did what they were asked.
    pub ok: u64,
    /// Commands refused; each has a reason in the log.
    pub refused: u64,
    /// COMPARE AND WRITE commands that found other content: the normal sign of contention.
    pub miscompares: u64,
    /// Commands that failed inside the array.
    pub errors: u64,
    /// Bytes the commands were about.
    pub bytes: u64,
    /// Bytes that the host did not have to move.
    pub host_bytes_avoided: u64,
    /// Bytes copied by sharing, without moving data.
    pub cloned_bytes: u64,
    /// Bytes that had to be read and written inside the array.
    pub copied_bytes: u64,
    /// UNMAP: bytes in whole mapping units (4 KiB), which the pool gets back unless a snapshot or clone holds them.
    #[serde(default)]
    pub deallocated_bytes: u64,
    /// UNMAP: bytes at the edges, which read as zeros but may stay allocated.
    #[serde(default)]
    pub unaligned_bytes: u64,
    /// Time from the command's arrival to its status.
    pub latency: Latency,
    /// Refusals and errors by reason, the most frequent first; their counts add up to `refused` + `errors`.
    pub refusals: Vec<OffloadRefusalCount>,
    /// Commands among `ok` that brought no benefit, by reason: an UNMAP below the mapping unit, a copy that had to move its data.
    #[serde(default)]
    pub ineffective: Vec<OffloadRefusalCount>,
}

/// Latency in microseconds; percentiles come from the histogram and name the upper end of their bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Latency {
    /// Mean.
    pub average_us: u64,
    /// Half of the commands took at most this long.
    pub p50_us: u64,
    /// 99 of 100 commands took at most this long.
    pub p99_us: u64,
    /// Buckets with commands in them, by ascending bound.
    #[serde(default)]
    pub histogram: Vec<LatencyBucket>,
}

/// Commands whose latency lies below one bound and not below the next smaller one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LatencyBucket {
    /// The bound, a power of two; `null` for everything above the largest.
    pub upper_us: Option<u64>,
    /// Commands in this bucket alone.
    pub count: u64,
}

/// How often one reason was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OffloadRefusalCount {
    /// Stable name of the reason.
    pub reason_code: String,
    /// The reason in words.
    pub reason: String,
    /// Commands refused for it.
    pub count: u64,
}

/// One refused command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OffloadRefusal {
    /// Number of the entry; gaps tell that older ones were dropped.
    pub sequence: u64,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// The volume's name; `(deleted)` when it is gone.
    pub volume: String,
    /// The initiator's name.
    pub initiator: String,
    /// The initiator's host, when it has one.
    pub host: Option<String>,
    /// `ats`, `xcopy`, `zero` or `unmap`.
    pub primitive: String,
    /// Stable name of the reason.
    pub reason_code: String,
    /// The reason in words.
    pub reason: String,
    /// The values that mattered.
    pub detail: String,
}

/// Which rows to return.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OffloadQuery {
    /// Only those of this volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
}

/// Which refusals to return.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RefusalQuery {
    /// Only those of this volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// At most this many, the newest; 100 when left out, 10 000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}
