//! Offload: statistics of each primitive for each volume and share, and the log of refused commands.

use crate::ReservationType;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Statistics of one primitive on one volume or share since the array started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OffloadStatistics {
    /// Name of the volume or share; after its deletion, its last name.
    pub volume: String,
    /// True if it was deleted. Rows of recently deleted volumes and shares are kept.
    #[serde(default)]
    pub deleted: bool,
    /// Whether the row is about a volume or a share.
    #[serde(default)]
    pub kind: ContentKind,
    /// Address of the client that the row is about; `api`: requests to this interface; `others`: all clients that were
    /// not active lately. Absent in rows about all clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Host with that address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Of volumes: `ats`, `xcopy`, `zero`, `unmap`. Of shares: `clone`, `copy`, `reserve`, `free`, `seek`, `read-plus`,
    /// `write-same`, `extstat`, `offload-status`, `offload-abort`.
    pub primitive: String,
    /// Commands received.
    pub commands: u64,
    /// Commands that succeeded.
    pub ok: u64,
    /// Commands that were refused; the log has the reason of each.
    pub refused: u64,
    /// COMPARE AND WRITE commands that found other content, which is normal under contention.
    pub miscompares: u64,
    /// Commands that failed inside the array.
    pub errors: u64,
    /// Bytes that the commands addressed.
    pub bytes: u64,
    /// Bytes that hosts did not have to transfer.
    pub host_bytes_avoided: u64,
    /// Bytes copied by sharing blocks, without moving data.
    pub cloned_bytes: u64,
    /// Bytes that the array had to read and write.
    pub copied_bytes: u64,
    /// UNMAP: bytes in whole mapping units (4 KiB); they become free unless a snapshot or clone
    /// keeps them.
    #[serde(default)]
    pub deallocated_bytes: u64,
    /// UNMAP: bytes at the edges, which read as zeros but may stay allocated.
    #[serde(default)]
    pub unaligned_bytes: u64,
    /// Time from the arrival of the command to its status.
    pub latency: Latency,
    /// Refusals by reason, the most frequent first; their counts add up to `refused`.
    pub refusals: Vec<OffloadRefusalCount>,
    /// Failures inside the array by reason; their counts add up to `errors`.
    #[serde(default)]
    pub failures: Vec<OffloadRefusalCount>,
    /// Commands among `ok` without a benefit, by reason: an UNMAP below the mapping unit, a copy
    /// that had to move its data.
    #[serde(default)]
    pub ineffective: Vec<OffloadRefusalCount>,
}

/// Day of the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OffloadTotalsQuery {
    /// Start of the caller's day, rounded up to an hour; default: midnight UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, format = DateTime)]
    pub day: Option<Timestamp>,
}

/// Offload of the whole array over restarts, also of volumes and shares that were deleted. Primitives that no host has
/// used are left out. Counters are up to ten seconds old.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OffloadTotals {
    /// Time from which `all` counts.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Since `since`.
    pub all: Vec<OffloadSum>,
    /// In the last 30 days.
    pub days_30: Vec<OffloadSum>,
    /// In the present day.
    pub today: Vec<OffloadSum>,
}

/// Counters of one primitive in a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OffloadSum {
    /// As in [`OffloadStatistics`].
    pub primitive: String,
    /// Commands received.
    pub commands: u64,
    /// Commands that succeeded.
    pub ok: u64,
    /// Commands that were refused.
    pub refused: u64,
    /// Commands that failed inside the array.
    pub errors: u64,
    /// Bytes that the commands addressed.
    pub bytes: u64,
    /// Bytes that hosts did not have to transfer.
    pub host_bytes_avoided: u64,
    /// Refusals by reason, the most frequent first.
    pub refusals: Vec<OffloadRefusalCount>,
}

/// Kind of what hosts use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContentKind {
    /// A volume.
    #[default]
    Volume,
    /// A share.
    Share,
}

/// Latency in microseconds. Percentiles come from the histogram and are the upper bound of their
/// bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Latency {
    /// Number of commands.
    #[serde(default)]
    pub count: u64,
    /// Sum of all latencies.
    #[serde(default)]
    pub total_us: u64,
    /// Longest latency.
    #[serde(default)]
    pub max_us: u64,
    /// Mean.
    pub average_us: u64,
    /// Half of the commands took at most this long; estimated within a bucket of `histogram`.
    pub p50_us: u64,
    /// 99 of 100 commands took at most this long; estimated within a bucket of `histogram`.
    pub p99_us: u64,
    /// Nonempty buckets, by ascending bound.
    #[serde(default)]
    pub histogram: Vec<LatencyBucket>,
}

/// Number of commands with a latency below this bound and not below the next smaller one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LatencyBucket {
    /// Bound, a power of two; `null` for the bucket above the largest bound.
    pub upper_us: Option<u64>,
    /// Commands in this bucket alone.
    pub count: u64,
}

/// Number of commands with one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OffloadRefusalCount {
    /// Stable name of the reason.
    pub reason_code: String,
    /// Text of the reason.
    pub reason: String,
    /// Commands with this reason.
    pub count: u64,
}

/// Outcome of a command in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OffloadEnding {
    /// Refused: the initiator requested something that is never allowed, or that is impossible at
    /// present.
    #[default]
    Refused,
    /// Failed inside the array.
    Failed,
    /// Succeeded without the benefit of the offload: a copy that had to move its data, an UNMAP
    /// below the mapping unit.
    Ineffective,
}

/// Commands that were refused, failed, or succeeded without the benefit of the offload: one, or several that differ in
/// their times and values alone and came within a minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OffloadRefusal {
    /// Number of the entry; a gap means that older entries were dropped.
    pub sequence: u64,
    /// Time of the last of them.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// Time of the first of them; absent from an array of an older release, whose entries are one command each.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first: Option<Timestamp>,
    /// Number of commands.
    #[serde(default = "one")]
    pub count: u64,
    /// Name of the volume or share, `share@snapshot` for a snapshot that is exported; after the deletion of the
    /// volume or share, the name at the time of the command.
    pub volume: String,
    /// True if the volume or share was deleted.
    #[serde(default)]
    pub deleted: bool,
    /// Whether the command was for a volume or a share.
    #[serde(default)]
    pub kind: ContentKind,
    /// Name of the initiator; of a client of NFS, its address; `api`: a request to this interface.
    pub initiator: String,
    /// Host of the initiator or client, if it belongs to one.
    pub host: Option<String>,
    /// Primitive, as in the statistics.
    pub primitive: String,
    /// Name of the command or operation in its standard.
    #[serde(default)]
    pub command: String,
    /// Outcome of the command.
    #[serde(default)]
    pub ending: OffloadEnding,
    /// Stable name of the reason.
    pub reason_code: String,
    /// Text of the reason.
    pub reason: String,
    /// Holder of the reservation that refused the commands at that time; `null` for another reason.
    #[serde(default)]
    pub holder: Option<RefusalHolder>,
    /// Bytes that the commands processed; 0 if they were refused or failed.
    #[serde(default)]
    pub bytes: u64,
    /// Values that caused the outcome of the last of them.
    pub detail: String,
}

/// Array of an older release: one command an entry.
const fn one() -> u64 {
    1
}

/// Holder of a reservation that refused commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusalHolder {
    /// Name of the initiator; of a reservation that all registered initiators hold, that of one of them.
    pub initiator: String,
    /// Host to which the initiator belongs now, if to one.
    pub host: Option<String>,
    /// Reserved volume: of a copy, its source or its destination; `null` if it was deleted.
    #[serde(default)]
    pub volume: Option<String>,
    /// Type of the reservation.
    pub reservation_type: ReservationType,
    /// Reservation key, `0x` and 16 hexadecimal digits; `null` for RESERVE, which has none.
    pub key: Option<String>,
}

impl OffloadRefusal {
    /// Time of the first command.
    pub fn begun(&self) -> Timestamp {
        self.first.unwrap_or(self.time)
    }
}

impl RefusalHolder {
    /// Name of the host, else of the initiator.
    pub fn name(&self) -> &str {
        self.host.as_deref().unwrap_or(&self.initiator)
    }
}

/// Division of the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OffloadBy {
    /// By client.
    Client,
}

/// Filter of the statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OffloadFilter {
    /// Only rows of this volume or share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// `client`: a row for each client of each share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub by: Option<OffloadBy>,
}

/// Filter of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RefusalQuery {
    /// Number of an entry: the list then has the oldest entries after it. Without it, the list has the newest entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Only commands to this volume or share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// Only commands of this host, by name or id, or of this initiator (of a client of NFS, its address).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Only commands of this primitive, named as in the statistics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primitive: Option<String>,
    /// Only commands with this outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub ending: Option<OffloadEnding>,
    /// Only entries whose last command was at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, format = DateTime)]
    pub from: Option<Timestamp>,
    /// Only entries whose first command was before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
    /// Maximum number of entries; default: 100. The array keeps 1 024.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}
