//! `schedule preview`: the next runs that times mean, and what rules keep and remove of a schedule's snapshots.

use super::edit::{DEFAULT_KEEP_LAST, check_rules, next_run};
use super::keep::Keep;
use super::record::ScheduleRecord;
use super::when::When;
use crate::control::Control;
use crate::error::ControlError;
use crate::request::Request;
use crate::snapshots::record::SnapshotRecord;
use jiff::Timestamp;
use std::collections::BTreeSet;
use uuid::Uuid;

/// Number of runs of a preview.
const RUNS: usize = 5;
/// Most snapshots that a preview names of those that stay, and of those that go.
const MOST: usize = 1000;

/// Says what times and rules would do, by the code that runs and applies them. Changes nothing. Absent fields are
/// those of the schedule, or those of a new one.
#[derive(Clone, Debug, Default)]
pub struct SchedulePreview {
    /// Name or id of the schedule that the rules are for; absent: a new one, which has no snapshots yet.
    pub schedule: Option<String>,
    /// Times of the runs; needed for a new schedule.
    pub when: Option<When>,
    /// IANA name of the time zone.
    pub zone: Option<String>,
    /// Snapshots that stay.
    pub keep: Option<Keep>,
    /// Number of newest snapshots of each member that always stay.
    pub keep_last: Option<u16>,
}

/// Snapshot in a preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Previewed {
    /// Id.
    pub id: Uuid,
    /// `volume@name` or `share@name`.
    pub name: String,
    /// Time at which it was taken.
    pub created: Timestamp,
}

/// What times and rules would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulePreviewView {
    /// The next runs.
    pub next: Vec<Timestamp>,
    /// Number of snapshots that stay.
    pub kept: usize,
    /// Number of snapshots that go.
    pub removed: usize,
    /// Those that stay, the newest first; at most 1000.
    pub keeps: Vec<Previewed>,
    /// Those that go, the newest first; at most 1000.
    pub removes: Vec<Previewed>,
}

impl Request for SchedulePreview {
    type Reply = SchedulePreviewView;
    const NAME: &'static str = "schedule-preview";

    async fn run(&self, control: &Control) -> Result<SchedulePreviewView, ControlError> {
        let record = self.record(control)?;
        let zone = check_rules(&record)?;
        let mut next: Vec<Timestamp> = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            let after = next.last().copied().unwrap_or_else(|| control.environment().now());
            next.push(next_run(&record, after, &zone)?);
        }
        let gone: BTreeSet<Uuid> = control.surplus_of(&record).iter().map(|snapshot| snapshot.id).collect();
        let directory = control.directory();
        let mut all: Vec<&SnapshotRecord> = directory.snapshots_by(record.id).collect();
        all.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.object));
        let shown = |snapshot: &SnapshotRecord| Previewed {
            id: snapshot.id,
            name: directory.full_name(snapshot),
            created: snapshot.created,
        };
        let (removes, keeps): (Vec<_>, Vec<_>) = all.into_iter().partition(|snapshot| gone.contains(&snapshot.id));
        Ok(SchedulePreviewView {
            next,
            kept: keeps.len(),
            removed: removes.len(),
            keeps: keeps.into_iter().take(MOST).map(shown).collect(),
            removes: removes.into_iter().take(MOST).map(shown).collect(),
        })
    }
}

impl SchedulePreview {
    /// The schedule as it would be.
    fn record(&self, control: &Control) -> Result<ScheduleRecord, ControlError> {
        let now = control.environment().now();
        let needed = || ControlError::InvalidSetting("the preview of a new schedule needs its times".to_owned());
        let mut record = match &self.schedule {
            Some(schedule) => control.directory().schedule(schedule)?.clone(),
            None => ScheduleRecord {
                id: Uuid::nil(),
                name: String::new(),
                when: self.when.ok_or_else(needed)?,
                zone: "UTC".to_owned(),
                members: Vec::new(),
                label: None,
                keep: Keep::default(),
                keep_last: DEFAULT_KEEP_LAST,
                lock_seconds: None,
                rules_changed: false,
                paused: false,
                created: now,
                next: now,
                run: None,
                last: None,
            },
        };
        record.when = self.when.unwrap_or(record.when);
        record.zone = self.zone.clone().unwrap_or(record.zone);
        record.keep = self.keep.unwrap_or(record.keep);
        record.keep_last = self.keep_last.unwrap_or(record.keep_last);
        Ok(record)
    }
}
