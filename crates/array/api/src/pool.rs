//! The pool and its space.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A pool. `size = used + free`; once counted, `used = metadata + unique + snapshots + shared`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pool {
    /// Name.
    pub name: String,
    /// Whether it serves I/O.
    pub state: PoolState,
    /// Why it stopped; absent unless `state` is `stopped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_reason: Option<String>,
    /// The whole pool.
    pub size_bytes: u64,
    /// Everything that cannot take new data.
    pub used_bytes: u64,
    /// What new data can use.
    pub free_bytes: u64,
    /// Log, superblocks, space map and tree pages; part of `used_bytes`.
    pub metadata_bytes: u64,
    /// Sum of the volumes' sizes.
    pub provisioned_bytes: u64,
    /// Sum of what the volumes have mapped; shared blocks count for each volume that maps them.
    pub mapped_bytes: u64,
    /// Number of volumes.
    pub volumes: u64,
    /// Number of snapshots.
    pub snapshots: u64,
    /// Kept free for thick volumes; part of `free_bytes`.
    #[serde(default)]
    pub promised_bytes: u64,
    /// Free and promised to nobody.
    #[serde(default)]
    pub available_bytes: u64,
    /// On its way to become free, at most; part of `used_bytes`.
    #[serde(default)]
    pub reclaimable_bytes: u64,
    /// Sum of what deleting each volume alone would free; `null` until all are counted, and where the pool is shown as part of the array.
    #[serde(default)]
    pub unique_bytes: Option<u64>,
    /// Sum over the volumes of what deleting all snapshots of each would free; `null` as above.
    #[serde(default)]
    pub snapshot_bytes: Option<u64>,
    /// What only copy tokens of hosts keep, for as long as they last; `null` as above.
    #[serde(default)]
    pub token_bytes: Option<u64>,
    /// The rest of the data: stored once for several, or about to become free; `null` as above.
    #[serde(default)]
    pub shared_bytes: Option<u64>,
    /// `provisioned_bytes` as a share of `size_bytes`: above 100 the pool is over-committed.
    #[serde(default)]
    pub commitment_percent: u64,
    /// Limit of that; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment_limit_percent: Option<u32>,
    /// Share used or promised from which on the pool warns.
    #[serde(default)]
    pub warn_percent: u8,
    /// Share used or promised from which on it is critical.
    #[serde(default)]
    pub critical_percent: u8,
    /// The last scrub that came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrub: Option<ScrubReport>,
    /// The last check while in use that came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckReport>,
}

/// Changes the settings of a pool. What is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolSet {
    /// Share used or promised, 1 to 100, from which on the pool warns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_percent: Option<u8>,
    /// The same for critical; not below `warn_percent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_percent: Option<u8>,
    /// What the volumes may have together, as a share of the pool's size; 0: as much as they like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment_limit_percent: Option<u32>,
}

/// Makes a pool larger: one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolGrow {
    /// Size that its last file or device has from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Absolute path, on the array's machine, of a further device or file; it must be blank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// What a scrub found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScrubReport {
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub started: Timestamp,
    /// When it ended; for one that runs, now.
    #[schema(value_type = String, format = DateTime)]
    pub finished: Timestamp,
    /// Bytes read and verified.
    pub verified_bytes: u64,
    /// Blocks of 4 KiB that are bad.
    pub bad_blocks: u64,
    /// Where they are, the first 64 stretches.
    pub bad: Vec<BadRange>,
    /// Metadata that cannot be read, a sentence each, the first twenty.
    pub damaged: Vec<String>,
}

/// A stretch of a volume whose content is lost until it is overwritten as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BadRange {
    /// The volume's name.
    pub volume: String,
    /// The volume itself has it; otherwise only the snapshots.
    pub in_volume: bool,
    /// Names of the volume's snapshots that have it too, at most eight.
    pub snapshots: Vec<String>,
    /// First block of 512 bytes.
    pub lba: u64,
    /// Number of blocks of 512 bytes.
    pub blocks: u64,
}

/// What a check of a pool in use found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckReport {
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub started: Timestamp,
    /// When it ended.
    #[schema(value_type = String, format = DateTime)]
    pub finished: Timestamp,
    /// Volumes and snapshots walked.
    pub objects: u64,
    /// Map pages verified.
    pub pages: u64,
    /// Data blocks counted.
    pub blocks: u64,
    /// Number of findings.
    pub count: u64,
    /// What is wrong, a sentence each, the first twenty.
    pub findings: Vec<String>,
}

/// Whether a pool serves I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolState {
    /// Serving.
    Healthy,
    /// Serving, but content or metadata is lost: see the alerts.
    Damaged,
    /// Serving, but writes that need new space fail, except those to thick volumes.
    Full,
    /// Stopped after an error of its medium; nothing more is acknowledged.
    Stopped,
}
