//! Schedules: snapshots at set times, and rules that remove old ones.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;
use uuid::Uuid;

/// Times of runs. A time of day that does not exist on a day is due at the first time after it that
/// does; one that exists twice is due the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum When {
    /// At the multiples of a period since 1970-01-01T00:00Z.
    Every {
        /// Period, 60 to 2 592 000.
        seconds: u32,
    },
    /// Once a day.
    Daily {
        /// Minute of the day, 0 to 1439.
        minute: u16,
    },
    /// Once a week.
    Weekly {
        /// Day, 1 (Monday) to 7 (Sunday).
        day: u8,
        /// Minute of the day, 0 to 1439.
        minute: u16,
    },
}

/// Retention: the newest snapshot of each of the last N hours, days, weeks and months that have one
/// stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// Hours.
    #[serde(default)]
    pub hourly: u16,
    /// Days.
    #[serde(default)]
    pub daily: u16,
    /// Weeks, from Monday on.
    #[serde(default)]
    pub weekly: u16,
    /// Months.
    #[serde(default)]
    pub monthly: u16,
}

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Schedule {
    /// Identity.
    pub id: Uuid,
    /// Unique name. Its snapshots are named `NAME.2026-11-23T101500Z`, by the time of the run in UTC.
    pub name: String,
    /// Times of the runs.
    pub when: When,
    /// IANA name of the time zone of times of day, and of hours, days, weeks and months.
    pub zone: String,
    /// Names of the volumes and shares that are members by name.
    pub volumes: Vec<String>,
    /// Label of the volumes that are members, too: one key with its value. Empty: none.
    pub label: BTreeMap<String, String>,
    /// Number of all members now.
    pub members: u64,
    /// Snapshots that stay.
    pub keep: Keep,
    /// Number of newest snapshots of each member that always stay.
    pub keep_last: u16,
    /// Seconds for which each snapshot is locked; absent: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_seconds: Option<u32>,
    /// True: paused.
    pub paused: bool,
    /// Number of its snapshots.
    pub snapshots: u64,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
    /// Time of the next run; absent while paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next: Option<Timestamp>,
    /// Last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<ScheduleLast>,
}

/// Last run of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleLast {
    /// Time at which it was due.
    #[schema(value_type = String, format = DateTime)]
    pub due: Timestamp,
    /// Time at which it began.
    #[schema(value_type = String, format = DateTime)]
    pub started: Timestamp,
    /// Number of snapshots taken.
    pub taken: u32,
    /// Number of older snapshots that have been removed since.
    pub removed: u32,
    /// Number of members without a snapshot.
    pub skipped: u32,
    /// Reason for the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Request to create a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleCreate {
    /// Unique name of at most 40 characters.
    pub name: String,
    /// Times of the runs.
    pub when: When,
    /// IANA name of the time zone; UTC if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Volumes and shares, by name or id.
    #[serde(default)]
    pub volumes: Vec<String>,
    /// Label of further volumes: one key with its value.
    #[serde(default)]
    pub label: BTreeMap<String, String>,
    /// Snapshots that stay.
    #[serde(default)]
    pub keep: Keep,
    /// Number of newest snapshots of each member that always stay, at least 1; 3 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_last: Option<u16>,
    /// Seconds for which each snapshot is locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_seconds: Option<u32>,
}

/// Request to change a schedule. Omitted fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleSet {
    /// Times of the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// IANA name of the time zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// All members by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<Vec<String>>,
    /// Label of further members; empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<BTreeMap<String, String>>,
    /// Snapshots that stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Keep>,
    /// Number of newest snapshots of each member that always stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_last: Option<u16>,
    /// Seconds for which each new snapshot is locked; 0: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_seconds: Option<u32>,
    /// True: paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
}

/// Request to lock a snapshot, or to make its lock longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotLock {
    /// End of the lock, within ten years. A locked snapshot cannot be deleted, nor its lock shortened.
    #[schema(value_type = String, format = DateTime)]
    pub until: Timestamp,
}

/// Request to pin a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotPin {
    /// True: the rules of its schedule leave it alone.
    pub pinned: bool,
}

/// Question what times and rules of a schedule would do. Omitted fields are those of `schedule`, or those of a new one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulePreview {
    /// Schedule whose snapshots the rules would be for, by name or id; absent for a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// Times of the runs; needed for a new schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// IANA name of the time zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Snapshots that stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Keep>,
    /// Number of newest snapshots of each member that always stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_last: Option<u16>,
}

/// What times and rules of a schedule would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SchedulePreviewed {
    /// The next five runs.
    #[schema(value_type = Vec<String>)]
    pub next: Vec<Timestamp>,
    /// Number of snapshots that stay.
    pub kept: u64,
    /// Number of snapshots that would be removed.
    pub removed: u64,
    /// Those that stay, the newest first; at most 1000.
    pub keeps: Vec<PreviewedSnapshot>,
    /// Those that would be removed, the newest first; at most 1000.
    pub removes: Vec<PreviewedSnapshot>,
}

/// Snapshot in the preview of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PreviewedSnapshot {
    /// Identity.
    pub id: Uuid,
    /// `volume@name` or `share@name`.
    pub name: String,
    /// Time at which it was taken.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
}
