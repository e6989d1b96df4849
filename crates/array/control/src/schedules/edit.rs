//! `schedule create`, `set` and `delete`.

use super::ScheduleView;
use super::keep::Keep;
use super::record::{Label, ScheduleRecord};
use super::when::{When, zone};
use crate::condition::Noun;
use crate::control::Control;
use crate::directory::{Directory, Edit};
use crate::effect::{Rehearsal, Rehearsed};
use crate::environment::new_id;
use crate::error::ControlError;
use crate::events::Draft;
use crate::names::{check_label, check_name};
use crate::record::Document;
use crate::request::Request;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use uuid::Uuid;

/// Largest number of schedules.
const MAX_SCHEDULES: usize = 1024;
/// Largest number of members by name.
const MAX_MEMBERS: usize = 1024;
/// Longest name: those of snapshots add the time of the run.
const MAX_NAME_BYTES: usize = 40;
/// Number of newest snapshots that always stay, unless the request says otherwise.
pub(super) const DEFAULT_KEEP_LAST: u16 = 3;
/// Name that no schedule has: in paths, it is the preview.
const PREVIEW: &str = "preview";
/// Longest lock of a schedule's snapshots, in seconds: a year.
const MAX_LOCK_SECONDS: u32 = 366 * 86_400;

/// Creates a schedule.
#[derive(Clone, Debug)]
pub struct ScheduleCreate {
    /// Unique name.
    pub name: String,
    /// Times of the runs.
    pub when: When,
    /// IANA name of the time zone; UTC if absent.
    pub zone: Option<String>,
    /// Members, by name or id of a volume or share.
    pub volumes: Vec<String>,
    /// Label of further members.
    pub label: Option<Label>,
    /// Snapshots that stay.
    pub keep: Keep,
    /// Number of newest snapshots of each member that always stay, at least 1; 3 if absent.
    pub keep_last: Option<u16>,
    /// Seconds for which each snapshot is locked.
    pub lock_seconds: Option<u32>,
}

/// Changes a schedule; absent fields keep their values.
#[derive(Clone, Debug, Default)]
pub struct ScheduleSet {
    /// Name or id.
    pub schedule: String,
    /// Times of the runs.
    pub when: Option<When>,
    /// IANA name of the time zone.
    pub zone: Option<String>,
    /// Members by name, all of them.
    pub volumes: Option<Vec<String>>,
    /// Label of further members; `Some(None)`: none.
    pub label: Option<Option<Label>>,
    /// Snapshots that stay.
    pub keep: Option<Keep>,
    /// Number of newest snapshots of each member that always stay.
    pub keep_last: Option<u16>,
    /// Seconds for which each new snapshot is locked; `Some(None)`: none is.
    pub lock_seconds: Option<Option<u32>>,
    /// True if no run is due.
    pub paused: Option<bool>,
}

/// Deletes a schedule. Its snapshots stay. The reply is its name.
#[derive(Clone, Debug)]
pub struct ScheduleDelete {
    /// Name or id.
    pub schedule: String,
}

impl Request for ScheduleCreate {
    type Reply = ScheduleView;
    const NAME: &'static str = "schedule-create";

    async fn run(&self, control: &Control) -> Result<ScheduleView, ControlError> {
        check_name(Noun::Schedule, &self.name)?;
        if self.name == PREVIEW {
            let (noun, name) = (Noun::Schedule, self.name.clone());
            return Err(ControlError::InvalidName { noun, name, reason: "it is a word of the interface" });
        }
        if self.name.len() > MAX_NAME_BYTES {
            let (noun, name) = (Noun::Schedule, self.name.clone());
            return Err(ControlError::InvalidName { noun, name, reason: "it is longer than 40 characters" });
        }
        let _changes = control.lock_changes().await;
        let (existing, number) = {
            let directory = control.directory();
            (directory.schedule(&self.name).ok().map(|one| one.name.clone()), directory.schedules().count())
        };
        if let Some(name) = existing {
            return Err(ControlError::Exists { noun: Noun::Schedule, name, difference: None });
        }
        if number >= MAX_SCHEDULES {
            return Err(ControlError::InvalidSetting(format!("an array has at most {MAX_SCHEDULES} schedules")));
        }
        let now = control.environment().now();
        let record = ScheduleRecord {
            id: new_id(&**control.environment()),
            name: self.name.clone(),
            when: self.when,
            zone: self.zone.clone().unwrap_or_else(|| "UTC".to_owned()),
            members: members(&control.directory(), &self.volumes)?,
            label: self.label.clone(),
            keep: self.keep,
            keep_last: self.keep_last.unwrap_or(DEFAULT_KEEP_LAST),
            lock_seconds: self.lock_seconds,
            rules_changed: false,
            paused: false,
            created: now,
            next: now,
            run: None,
            last: None,
        };
        control.store_schedule(record).await
    }

    fn event(&self, view: &ScheduleView) -> Option<Draft> {
        let (name, when, zone) = (&self.name, self.when, &view.record.zone);
        Some(Draft::info("schedule-created", name, format!("schedule {name} created: {when}, {zone}")))
    }
}

impl Request for ScheduleSet {
    type Reply = ScheduleView;
    const NAME: &'static str = "schedule-set";

    async fn run(&self, control: &Control) -> Result<ScheduleView, ControlError> {
        let _changes = control.lock_changes().await;
        let before = control.directory().schedule(&self.schedule)?.clone();
        let mut record = before.clone();
        record.when = self.when.unwrap_or(record.when);
        record.zone = self.zone.clone().unwrap_or(record.zone);
        if let Some(volumes) = &self.volumes {
            record.members = members(&control.directory(), volumes)?;
        }
        record.label = self.label.clone().unwrap_or(record.label);
        record.keep = self.keep.unwrap_or(record.keep);
        record.keep_last = self.keep_last.unwrap_or(record.keep_last);
        record.lock_seconds = self.lock_seconds.unwrap_or(record.lock_seconds);
        record.paused = self.paused.unwrap_or(record.paused);
        let rules = |schedule: &ScheduleRecord| (schedule.keep, schedule.keep_last, schedule.zone.clone());
        record.rules_changed |= rules(&record) != rules(&before);
        control.store_schedule(record).await
    }

    fn event(&self, view: &ScheduleView) -> Option<Draft> {
        let name = &view.record.name;
        Some(Draft::info("schedule-changed", name, format!("schedule {name} changed: {}", self.changes().join(", "))))
    }
}

impl ScheduleSet {
    /// Text of the changes.
    fn changes(&self) -> Vec<String> {
        let mut changes = Vec::new();
        changes.extend(self.when.map(|when| when.to_string()));
        changes.extend(self.zone.as_ref().map(|zone| format!("zone {zone}")));
        changes.extend(self.volumes.as_ref().map(|volumes| format!("volumes {}", volumes.join(", "))));
        changes.extend(self.label.as_ref().map(|label| match label {
            Some(Label { key, value }) => format!("label {key}={value}"),
            None => "no label".to_owned(),
        }));
        changes.extend((self.keep.is_some() || self.keep_last.is_some()).then(|| "retention".to_owned()));
        changes.extend(self.lock_seconds.map(|_| "locks of new snapshots".to_owned()));
        changes.extend(self.paused.map(|paused| if paused { "paused" } else { "resumed" }.to_owned()));
        changes
    }
}

impl Request for ScheduleDelete {
    type Reply = String;
    const NAME: &'static str = "schedule-delete";

    async fn run(&self, control: &Control) -> Result<String, ControlError> {
        let _changes = control.lock_changes().await;
        let record = self.plan(control)?;
        control.commit(vec![record.delete()], vec![Edit::Schedule(record.id, None)], &[]).await?;
        Ok(record.name)
    }

    fn event(&self, name: &String) -> Option<Draft> {
        Some(Draft::info("schedule-deleted", name, format!("schedule {name} deleted; its snapshots stay")))
    }
}

impl Rehearsed for ScheduleDelete {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let record = self.plan(control)?;
        let directory = control.directory();
        let taken = directory.snapshots_by(record.id).count();
        if taken == 0 {
            return Ok(Rehearsal::default());
        }
        let message = format!("its {taken} snapshots stay, and nothing removes them by itself any more");
        Ok(Rehearsal::default().warns("snapshots-stay", message))
    }
}

impl ScheduleDelete {
    /// Finds the schedule.
    fn plan(&self, control: &Control) -> Result<ScheduleRecord, ControlError> {
        Ok(control.directory().schedule(&self.schedule)?.clone())
    }
}

impl Control {
    /// Checks and stores a new or changed schedule, and finds its next run.
    async fn store_schedule(&self, mut record: ScheduleRecord) -> Result<ScheduleView, ControlError> {
        let zone = check_rules(&record)?;
        if record.members.is_empty() && record.label.is_none() {
            return Err(ControlError::InvalidSetting("a schedule needs volumes or a label".to_owned()));
        }
        if let Some(Label { key, value }) = &record.label {
            check_label(key, value)?;
        }
        if record.lock_seconds.is_some_and(|seconds| seconds == 0 || seconds > MAX_LOCK_SECONDS) {
            return Err(ControlError::InvalidSetting("a snapshot is locked for 1 second to 366 days".to_owned()));
        }
        record.next = next_run(&record, self.environment().now(), &zone)?;
        self.commit(vec![record.put()?], vec![record.clone().into()], &[]).await?;
        self.schedules().note(record.id);
        Ok(self.see(|facts| facts.schedule_view(&record)))
    }
}

/// Checks times and rules of a schedule. Returns its time zone.
pub(super) fn check_rules(record: &ScheduleRecord) -> Result<TimeZone, ControlError> {
    record.when.check()?;
    if record.keep_last == 0 {
        return Err(ControlError::InvalidSetting("a schedule keeps at least the last snapshot".to_owned()));
    }
    zone(&record.zone)
}

/// First run after a time.
pub(super) fn next_run(record: &ScheduleRecord, after: Timestamp, zone: &TimeZone) -> Result<Timestamp, ControlError> {
    let too_far = || ControlError::InvalidSetting(format!("{} is due at no time", record.when));
    record.when.next_after(after, zone).ok_or_else(too_far)
}

/// Finds members by name.
fn members(directory: &Directory, names: &[String]) -> Result<Vec<Uuid>, ControlError> {
    if names.len() > MAX_MEMBERS {
        return Err(ControlError::InvalidSetting(format!("a schedule names at most {MAX_MEMBERS} volumes")));
    }
    let mut members: Vec<Uuid> =
        names.iter().map(|name| directory.content(name).map(|content| content.id)).collect::<Result<_, _>>()?;
    members.sort_unstable();
    members.dedup();
    Ok(members)
}
