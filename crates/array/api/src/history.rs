//! Activity of hosts over minutes to months: series of values, and samples of one second.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// Series and times of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// Names of 1 to 32 series, separated by commas: `array.latency_p99`,
    /// `primitive.xcopy.bytes`, `volume.ID.read_ops`, `pool.NAME.used_bytes`.
    pub series: String,
    /// Start; default: ten minutes ago. Steps of seconds are kept for ten minutes, of 10 seconds for a day (not of
    /// volumes and shares), of 5 minutes for 30 days, and of an hour for two years (of volumes and shares 90 days).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, format = DateTime)]
    pub from: Option<Timestamp>,
    /// End; default: the present time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, format = DateTime)]
    pub to: Option<Timestamp>,
    /// Most points of each series, 1 to 1000; default: 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub points: Option<u64>,
}

/// Values of series. All have the same points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// Time of the first point: the start of its step.
    #[schema(value_type = String, format = DateTime)]
    pub start: Timestamp,
    /// Seconds from one point to the next.
    pub step_seconds: u64,
    /// Series, in the order of the request.
    pub series: Vec<Series>,
}

/// Values of one series. `null` is a gap, not zero: the array did not run, nothing happened that has
/// the value, or the volume or share did not exist or was not among the 512 busiest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Series {
    /// Name.
    pub name: String,
    /// Unit of the values: `1/s`, `B/s`, `B`, `us` or `1`.
    pub unit: String,
    /// Mean of the values of each step.
    pub average: Vec<Option<f64>>,
    /// Largest value of each step.
    pub max: Vec<Option<f64>>,
}

/// A series that a history can have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SeriesInfo {
    /// Name; `ID` stands for the id or name of a volume or share.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// Definition, for people.
    pub help: String,
    /// Time from which the history has values. Absent for series of volumes and shares, and while nothing is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
}

/// Volumes and shares of a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SampleQuery {
    /// At most 60 volumes or shares, by id, separated by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<String>,
    /// Number of the busiest volumes and shares, at most 60; default: 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(maximum = 60)]
    pub busiest: Option<u32>,
}

/// Activity of hosts in about a second. Rates are per second and rounded. The names are short because
/// a live stream carries one each second.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sample {
    /// End of the interval in seconds since 1970.
    #[serde(rename = "t")]
    pub unix_seconds: i64,
    /// The whole array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArraySample>,
    /// Primitives that were used, by name.
    #[serde(rename = "off", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub primitives: BTreeMap<String, PrimitiveSample>,
    /// Wanted volumes and shares, by id. Absent if more than 512 were used and it is not among the
    /// busiest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub volumes: BTreeMap<Uuid, VolumeSample>,
    /// The volumes and shares with the most reads and writes of the last minute, most first. Absent on a
    /// live stream without the topic `busiest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest: Option<Vec<BusySample>>,
}

/// One of the busiest volumes and shares of the last minute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BusySample {
    /// `volume` or `share`.
    pub kind: String,
    /// Id.
    pub id: Uuid,
    /// Name.
    pub name: String,
    /// Mean of reads and writes.
    #[serde(rename = "n")]
    pub operations: u64,
    /// Mean of bytes that were read and written.
    #[serde(rename = "b")]
    pub bytes: u64,
    /// Largest latency in microseconds that 99 % of the reads and writes of a second did not exceed.
    #[serde(rename = "p99")]
    pub p99_us: u64,
}

/// The whole array.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArraySample {
    /// Reads.
    #[serde(rename = "ro")]
    pub reads: u64,
    /// Writes.
    #[serde(rename = "wo")]
    pub writes: u64,
    /// Bytes that reads returned.
    #[serde(rename = "rb")]
    pub read_bytes: u64,
    /// Bytes that writes stored.
    #[serde(rename = "wb")]
    pub written_bytes: u64,
    /// Bytes that the portals received.
    #[serde(rename = "in")]
    pub received_bytes: u64,
    /// Bytes that the portals sent.
    #[serde(rename = "out")]
    pub sent_bytes: u64,
    /// Bytes that offload commands copied, zeroed or freed.
    #[serde(rename = "ob")]
    pub offloaded_bytes: u64,
    /// Latency in microseconds that half of the reads and writes did not exceed; absent without any.
    #[serde(rename = "p50", default, skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<u64>,
    /// Latency in microseconds that 99 % of the reads and writes did not exceed; absent without any.
    #[serde(rename = "p99", default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<u64>,
    /// SCSI commands in flight; calls of NFS are not counted.
    #[serde(rename = "q")]
    pub queue_depth: u64,
    /// Thousandths of one processor that the threads which serve hosts used; absent in the first
    /// sample of an array.
    #[serde(rename = "busy", default, skip_serializing_if = "Option::is_none")]
    pub busy_per_mille: Option<u64>,
}

/// One primitive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PrimitiveSample {
    /// Commands answered.
    #[serde(rename = "n")]
    pub commands: u64,
    /// Commands refused.
    #[serde(rename = "ref")]
    pub refused: u64,
    /// Bytes that the commands processed.
    #[serde(rename = "b")]
    pub bytes: u64,
    /// Bytes that hosts did not have to transfer.
    #[serde(rename = "kept")]
    pub host_bytes_avoided: u64,
    /// Latency in microseconds that 99 % of the commands did not exceed.
    #[serde(rename = "p99")]
    pub p99_us: u64,
}

/// One volume or share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VolumeSample {
    /// Reads.
    #[serde(rename = "ro")]
    pub reads: u64,
    /// Writes.
    #[serde(rename = "wo")]
    pub writes: u64,
    /// Bytes that reads returned.
    #[serde(rename = "rb")]
    pub read_bytes: u64,
    /// Bytes that writes stored.
    #[serde(rename = "wb")]
    pub written_bytes: u64,
    /// Latency in microseconds that half of the reads and writes did not exceed; absent without any.
    #[serde(rename = "p50", default, skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<u64>,
    /// Latency in microseconds that 99 % of the reads and writes did not exceed; absent without any.
    #[serde(rename = "p99", default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<u64>,
    /// Bytes with stored content.
    #[serde(rename = "mapped")]
    pub mapped_bytes: u64,
}
