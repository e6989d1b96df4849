//! Documents of the pool: its settings, and the last result of a scrub and of a check.

use crate::record::Document;
use crate::trash::record::DEFAULT_AGE;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Settings of the pool by command; absent ones are as configured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolRecord {
    /// Percentage in use at which the pool warns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warn_percent: Option<u8>,
    /// Percentage in use at which the state is critical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_percent: Option<u8>,
    /// Limit of over-commitment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment: Option<Commitment>,
    /// Seconds for which the trash keeps what is deleted; 0: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trash_seconds: Option<u32>,
    /// Seconds for which nobody deletes for good what goes to the trash; absent: it has no lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trash_lock_seconds: Option<u32>,
    /// 99th percentile of reads and writes of hosts above which they are slow, in microseconds; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_alert_us: Option<u32>,
}

impl PoolRecord {
    /// Time for which the trash keeps what is deleted; 0: nothing.
    pub(crate) fn trash_age(&self) -> SignedDuration {
        self.trash_seconds.map_or(DEFAULT_AGE, |seconds| SignedDuration::from_secs(i64::from(seconds)))
    }
}

impl Document for PoolRecord {
    const PREFIX: &'static str = "pool-settings";
    fn key(&self) -> String {
        Self::PREFIX.to_owned()
    }
}

/// Limit of the volumes' total size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Commitment {
    /// No limit.
    #[default]
    Unlimited,
    /// Percentage of the pool's size.
    Percent(u32),
}

/// Result of a scrub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScrubRecord {
    /// Start time.
    pub started: Timestamp,
    /// End time.
    pub finished: Timestamp,
    /// Bytes read and verified.
    pub verified_bytes: u64,
    /// Number of bad blocks of 4 KiB.
    pub bad_blocks: u64,
    /// Locations of bad blocks, at most [`MAX_BAD_RANGES`](crate::MAX_BAD_RANGES).
    pub bad: Vec<BadRange>,
    /// Unreadable metadata: the first twenty sentences.
    pub damaged: Vec<String>,
}

impl Document for ScrubRecord {
    const PREFIX: &'static str = "scrub";
    fn key(&self) -> String {
        Self::PREFIX.to_owned()
    }
}

/// Range of a volume whose content is lost until it is overwritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BadRange {
    /// Name of the volume; `object N` if it has none.
    pub volume: String,
    /// True if the volume itself is affected; otherwise only its snapshots are.
    pub in_volume: bool,
    /// Names of affected snapshots of the volume.
    pub snapshots: Vec<String>,
    /// First 512-byte block.
    pub lba: u64,
    /// Number of 512-byte blocks.
    pub blocks: u64,
}

/// Result of a check of the pool in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckRecord {
    /// Start time.
    pub started: Timestamp,
    /// End time.
    pub finished: Timestamp,
    /// Number of volumes and snapshots traversed.
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

impl Document for CheckRecord {
    const PREFIX: &'static str = "check";
    fn key(&self) -> String {
        Self::PREFIX.to_owned()
    }
}
