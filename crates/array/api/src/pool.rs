//! Pools and their space.

use crate::Warning;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Forecast of a pool: when it is full, if it goes on growing as it did. Times are absent without growth, beyond ten
/// years, and once they are reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Forecast {
    /// Number of whole days of the last month with a known use.
    pub basis_days: u32,
    /// Growth; absent with fewer than three days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope_bytes_per_day: Option<ForecastSlope>,
    /// Time at which the pool reaches its threshold for a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub warn_at: Option<Timestamp>,
    /// Time at which it reaches its threshold for a critical alert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub critical_at: Option<Timestamp>,
    /// Time at which it is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub full_at: Option<Timestamp>,
    /// Time at which it is full with the growth `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub full_earliest: Option<Timestamp>,
    /// Time at which it is full with the growth `low`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub full_latest: Option<Timestamp>,
}

/// Growth in bytes a day; negative if the pool becomes emptier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ForecastSlope {
    /// Lower quartile of the days.
    pub low: i64,
    /// Median.
    pub mid: i64,
    /// Upper quartile.
    pub high: i64,
}

/// Volumes, shares, snapshots and objects in the trash that might be deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// Names (of a snapshot `volume@name`) or ids, 1 to 256. An object in the trash is named by its id, and goes with
    /// its snapshots there.
    pub delete: Vec<String>,
    /// True if volumes and shares go with their snapshots.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_snapshots: bool,
}

/// Kind of an object that could be deleted to free space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FreeableKind {
    /// Volume, share or snapshot in the trash.
    Trash,
    /// Snapshot.
    Snapshot,
    /// Volume that is granted to nobody.
    Volume,
    /// Share that is exported to nobody.
    Share,
}

/// Object that could be deleted to free space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Freeable {
    /// Kind.
    pub kind: FreeableKind,
    /// Id.
    #[schema(value_type = String, format = Uuid)]
    pub id: Uuid,
    /// Name: `volume`, `share`, `volume@snapshot` or `share@snapshot`; in the trash, that at its deletion.
    pub name: String,
    /// True for a snapshot of a share.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_share: bool,
    /// Number of snapshots that go with it: all of a volume or share, and those in the trash of one there.
    pub snapshots: u64,
    /// Bytes that deleting it alone, with those snapshots, would free; `null` until counted.
    pub frees_bytes: Option<u64>,
    /// Time of the creation; in the trash, of the deletion.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Last read or write by a host, of a volume or share that has no grants, from the history: to five minutes for
    /// 30 days, to an hour for 90. Offloaded commands alone do not count. `null`: none in the history, which may be
    /// younger, or have dropped what was used least; also for snapshots and what is in the trash.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used: Option<Timestamp>,
    /// End of the lock of it, or of a snapshot that would go with it: until then it frees nothing. It may be over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub locked_until: Option<Timestamp>,
}

/// What deleting them would free. Nothing is deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhatIfAnswer {
    /// Bytes that deleting all of them together would free; absent while they are being counted: ask again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freed_bytes: Option<u64>,
    /// Each of them.
    pub each: Vec<WhatIfOne>,
}

/// What deleting one of them would free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhatIfOne {
    /// Id.
    #[schema(value_type = String, format = Uuid)]
    pub id: Uuid,
    /// Name.
    pub name: String,
    /// Bytes that deleting it alone would free; absent while they are being counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone_bytes: Option<u64>,
}

/// A pool. `size = used + free`; once counted, `used = metadata + unique + snapshots + tokens +
/// shared`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pool {
    /// Name.
    pub name: String,
    /// Whether it serves I/O.
    pub state: PoolState,
    /// Reason for the stop; absent unless `state` is `stopped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_reason: Option<String>,
    /// Size of the pool.
    pub size_bytes: u64,
    /// Bytes that cannot take new data.
    pub used_bytes: u64,
    /// Bytes that can take new data.
    pub free_bytes: u64,
    /// Log, superblocks, space map and tree pages; part of `used_bytes`.
    pub metadata_bytes: u64,
    /// Sum of the sizes of all volumes.
    pub provisioned_bytes: u64,
    /// Sum of the mapped bytes of all volumes and shares; shared blocks count for each volume that maps them.
    pub mapped_bytes: u64,
    /// Number of volumes.
    pub volumes: u64,
    /// Number of shares.
    #[serde(default)]
    pub shares: u64,
    /// Number of snapshots.
    pub snapshots: u64,
    /// Bytes kept free for thick volumes; part of `free_bytes`.
    #[serde(default)]
    pub promised_bytes: u64,
    /// Free bytes that are not kept for thick volumes.
    #[serde(default)]
    pub available_bytes: u64,
    /// Upper bound of the bytes about to become free; part of `used_bytes`.
    #[serde(default)]
    pub reclaimable_bytes: u64,
    /// Sum, over all volumes and shares, of the bytes that deleting it alone would free; `null` until
    /// all are counted, and in the status of the array.
    #[serde(default)]
    pub unique_bytes: Option<u64>,
    /// Sum, over all volumes and shares, of the bytes that deleting all its snapshots would free;
    /// `null` as for `unique_bytes`.
    #[serde(default)]
    pub snapshot_bytes: Option<u64>,
    /// Bytes kept only by copy tokens of hosts, until the tokens expire; `null` as for
    /// `unique_bytes`.
    #[serde(default)]
    pub token_bytes: Option<u64>,
    /// Bytes that emptying the trash would free; `null` as for `unique_bytes`.
    #[serde(default)]
    pub trash_bytes: Option<u64>,
    /// Number of volumes, shares and snapshots in the trash.
    #[serde(default)]
    pub trash: u64,
    /// Seconds for which the trash keeps what is deleted; 0: what is deleted is gone at once.
    #[serde(default)]
    pub trash_seconds: u32,
    /// Seconds for which nobody deletes for good what goes to the trash, not even an administrator; 0: it has no lock.
    #[serde(default)]
    pub trash_lock_seconds: u32,
    /// 99th percentile of the reads and writes of hosts in microseconds, above which for five minutes the alert
    /// `commands-slow` is raised; absent: no alert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_alert_us: Option<u32>,
    /// Remaining data: stored once for several owners, or about to become free; `null` as for
    /// `unique_bytes`.
    #[serde(default)]
    pub shared_bytes: Option<u64>,
    /// `provisioned_bytes` in percent of `size_bytes`; above 100 the pool is over-committed.
    #[serde(default)]
    pub commitment_percent: u64,
    /// Limit of `commitment_percent`; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment_limit_percent: Option<u32>,
    /// Threshold for a warning: percentage of the pool that is used or promised.
    #[serde(default)]
    pub warn_percent: u8,
    /// Threshold for a critical alert: percentage of the pool that is used or promised.
    #[serde(default)]
    pub critical_percent: u8,
    /// Results of the last completed scrub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrub: Option<ScrubReport>,
    /// Results of the last completed check of the pool in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckReport>,
    /// Growth in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growing: Option<Growing>,
    /// Warnings about the change that this resource is the reply to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// Request to change the settings of a pool. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolSet {
    /// Threshold for a warning, 1 to 100: percentage of the pool that is used or promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 100)]
    pub warn_percent: Option<u8>,
    /// Threshold for a critical alert, 1 to 100, not below `warn_percent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 100)]
    pub critical_percent: Option<u8>,
    /// Limit of the sizes of all volumes together, in percent of the pool's size; 0: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment_limit_percent: Option<u32>,
    /// Seconds for which the trash keeps what is deleted from now on, at most 30 days; 0: what is
    /// deleted is gone at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 2_592_000)]
    pub trash_seconds: Option<u32>,
    /// Seconds for which nobody deletes for good what goes to the trash from now on, at most `trash_seconds`. It
    /// becomes longer only: a shorter one is refused (`locked`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 2_592_000)]
    pub trash_lock_seconds: Option<u32>,
    /// 99th percentile of the reads and writes of hosts in microseconds, 100 to 60 000 000, above which for five
    /// minutes the alert `commands-slow` is raised; 0: no alert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 60_000_000)]
    pub latency_alert_us: Option<u32>,
}

/// Request to enlarge a pool. Exactly one field is required.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolGrow {
    /// New size of the pool's last file or device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Absolute path, on the array's machine, of a further device or file; it must be blank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// Growth of a pool in progress. It has one field, that of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Growing {
    /// New size of the pool's last file or device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Path, on the array's machine, of the further device or file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// Results of a scrub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScrubReport {
    /// Time of the start.
    #[schema(value_type = String, format = DateTime)]
    pub started: Timestamp,
    /// Time of the end; for a running scrub, the present time.
    #[schema(value_type = String, format = DateTime)]
    pub finished: Timestamp,
    /// Bytes read and verified.
    pub verified_bytes: u64,
    /// Number of bad blocks of 4 KiB.
    pub bad_blocks: u64,
    /// The first 64 bad ranges.
    pub bad: Vec<BadRange>,
    /// Unreadable metadata: the first twenty descriptions, a sentence each.
    pub damaged: Vec<String>,
}

/// A range of a volume whose content is lost until the whole range is overwritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BadRange {
    /// Name of the volume.
    pub volume: String,
    /// True if the volume itself has the range; otherwise only snapshots have it.
    pub in_volume: bool,
    /// Names of the volume's snapshots that have the range too, at most eight.
    pub snapshots: Vec<String>,
    /// First bad logical block (512 bytes).
    pub lba: u64,
    /// Number of logical blocks (512 bytes).
    pub blocks: u64,
}

/// Results of a check of a pool in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckReport {
    /// Time of the start.
    #[schema(value_type = String, format = DateTime)]
    pub started: Timestamp,
    /// Time of the end.
    #[schema(value_type = String, format = DateTime)]
    pub finished: Timestamp,
    /// Number of volumes and snapshots checked.
    pub objects: u64,
    /// Number of map pages verified.
    pub pages: u64,
    /// Number of data blocks counted.
    pub blocks: u64,
    /// Number of findings.
    pub count: u64,
    /// The first twenty findings, a sentence each.
    pub findings: Vec<String>,
}

/// Whether a pool serves I/O and has space; if several states hold, the most severe one, which
/// comes last in this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolState {
    /// The pool serves I/O.
    Healthy,
    /// The pool serves I/O; `warn_percent` or `critical_percent` is reached.
    LowSpace,
    /// The pool serves I/O, but content or metadata is lost: see the alerts.
    Damaged,
    /// The pool serves I/O, but writes that need new space fail, except those to thick volumes.
    Full,
    /// The pool serves I/O, but the file system or thin device below it is full: writes that need
    /// new space fail.
    BelowFull,
    /// The pool stopped after an error of its medium, and acknowledges nothing more.
    Stopped,
}
