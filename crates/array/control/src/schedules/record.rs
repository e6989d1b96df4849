//! Documents of schedules.

use super::keep::Keep;
use super::when::When;
use crate::record::Document;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Schedule: times at which snapshots of its members are taken, and the rules by which they go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRecord {
    /// Id.
    pub id: Uuid,
    /// Unique name, the first part of the names of its snapshots.
    pub name: String,
    /// Times of the runs.
    pub when: When,
    /// IANA name of the time zone.
    pub zone: String,
    /// Volumes and shares that are members by id.
    pub members: Vec<Uuid>,
    /// Label of the volumes that are members, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// Snapshots that stay.
    pub keep: Keep,
    /// Number of newest snapshots of each member that always stay; at least 1.
    pub keep_last: u16,
    /// Seconds for which each snapshot is locked; absent: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_seconds: Option<u32>,
    /// True after a change of the rules, until they have been applied once: what they remove then goes to the trash.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rules_changed: bool,
    /// True if no run is due.
    pub paused: bool,
    /// Creation time.
    pub created: Timestamp,
    /// Time of the next run.
    pub next: Timestamp,
    /// Run in progress, to be continued after a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunRecord>,
    /// Last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastRun>,
}

impl ScheduleRecord {
    /// True if another state of the schedule differs in the progress of its runs alone.
    pub(crate) fn has_settings_of(&self, other: &Self) -> bool {
        let Self { rules_changed, next, run, last, .. } = other.clone();
        Self { rules_changed, next, run, last, ..self.clone() } == *other
    }
}

/// Label of volumes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// Key.
    pub key: String,
    /// Value.
    pub value: String,
}

/// Run in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// Group of all its snapshots.
    pub group: Uuid,
    /// Last member that it has dealt with, in the order of ids.
    pub after: Uuid,
    /// Its result so far.
    pub result: LastRun,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastRun {
    /// Time at which it was due.
    pub due: Timestamp,
    /// Time at which it began.
    pub started: Timestamp,
    /// Number of snapshots taken.
    pub taken: u32,
    /// Number of older snapshots that the rules have removed since.
    pub removed: u32,
    /// Number of members without a snapshot.
    pub skipped: u32,
    /// Reason for the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Document for ScheduleRecord {
    const PREFIX: &'static str = "schedule/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.id)
    }
}
