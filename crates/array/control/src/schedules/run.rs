//! Runs of schedules: one snapshot of each member, all of one instant for up to 256 of them.
//!
//! A run that was missed while the array was off is made up once, for the last time at which it was
//! due. The document of the schedule is in each commit, so that a run continues after a restart where
//! it was, and takes no snapshot twice. A member without room is skipped, and is due again the next
//! time.

use super::ScheduleView;
use super::record::{LastRun, RunRecord, ScheduleRecord};
use super::when::zone;
use crate::condition::Noun;
use crate::control::Control;
use crate::directory::{Content, Edit};
use crate::environment::new_id;
use crate::error::ControlError;
use crate::events::view::AlertView;
use crate::events::{Draft, Severity};
use crate::live::Change;
use crate::record::Document;
use crate::request::Request;
use crate::snapshots::record::SnapshotRecord;
use jiff::{SignedDuration, Timestamp};
use pool::{CatalogChange, ObjectKind};
use std::ops::Bound;
use uuid::Uuid;

/// Largest number of members whose snapshots are of one instant.
const AT_ONCE: usize = 256;
/// Delay after which a run is late.
const LATE: SignedDuration = SignedDuration::from_mins(5);
/// Largest number of snapshots of one time of one member: the clock was set back each time.
const MOST_OF_ONE_TIME: u32 = 99;

/// Runs a schedule now. The time of its next run stays.
#[derive(Clone, Debug)]
pub struct ScheduleRun {
    /// Name or id.
    pub schedule: String,
}

impl Request for ScheduleRun {
    type Reply = ScheduleView;
    const NAME: &'static str = "schedule-run";

    async fn run(&self, control: &Control) -> Result<ScheduleView, ControlError> {
        let id = control.directory().schedule(&self.schedule)?.id;
        let now = control.environment().now();
        let record = control.run_schedule(id, now, false).await?;
        control.retire_snapshots().await;
        let record = control.directory().schedule_by_id(record.id).cloned().unwrap_or(record);
        Ok(control.see(|facts| facts.schedule_view(&record)))
    }

    fn event(&self, view: &ScheduleView) -> Option<Draft> {
        let (name, taken) = (&view.record.name, view.record.last.as_ref().map_or(0, |last| last.taken));
        Some(Draft::info("schedule-run", name, format!("schedule {name} run on request: {taken} snapshots taken")))
    }
}

impl Control {
    /// Runs the schedules that are due, and continues those that a restart interrupted.
    pub(crate) async fn run_schedules(&self) {
        if self.live().pool_stopped().is_some() {
            return;
        }
        let now = self.environment().now();
        let due: Vec<(Uuid, Timestamp, bool)> = {
            let directory = self.directory();
            let due = directory.schedules().filter_map(|schedule| {
                if let Some(run) = &schedule.run {
                    return Some((schedule.id, run.result.due, true));
                }
                (!schedule.paused).then_some(())?;
                let zone = zone(&schedule.zone).ok()?;
                let next = schedule.next;
                // A clock that was set back makes the next run come earlier again.
                let sooner = schedule.when.next_after(now, &zone).filter(|sooner| *sooner < next);
                let due = if next <= now { Some(schedule.when.latest(next, now, &zone)) } else { None };
                due.map(|due| (schedule.id, due, true)).or(sooner.map(|sooner| (schedule.id, sooner, false)))
            });
            due.collect()
        };
        for (id, time, is_due) in due {
            let done = if is_due {
                self.run_schedule(id, time, true).await.map(drop)
            } else {
                self.bring_forward(id, time).await
            };
            // The next look tries again; a pool that has stopped has its own alert.
            if done.is_err() {
                return;
            }
        }
    }

    /// Gives a schedule an earlier next run.
    async fn bring_forward(&self, id: Uuid, next: Timestamp) -> Result<(), ControlError> {
        let _changes = self.lock_changes().await;
        let Some(record) = self.directory().schedule_by_id(id).cloned() else { return Ok(()) };
        let record = ScheduleRecord { next, ..record };
        self.store_run(Vec::new(), Vec::new(), &record, &[]).await
    }

    /// Takes the snapshots of a run, or of the rest of it. Returns the document afterwards.
    async fn run_schedule(&self, id: Uuid, due: Timestamp, is_due: bool) -> Result<ScheduleRecord, ControlError> {
        let started = self.environment().now();
        loop {
            let changes = self.lock_changes().await;
            let gone = || ControlError::NotFound { noun: Noun::Schedule, name: id.to_string() };
            let mut record = self.directory().schedule_by_id(id).cloned().ok_or_else(gone)?;
            let run = record.run.take().unwrap_or_else(|| RunRecord {
                group: new_id(&**self.environment()),
                after: Uuid::nil(),
                result: LastRun { due, started, taken: 0, removed: 0, skipped: 0, reason: None },
            });
            let members: Vec<Content> = {
                let all = self.directory().members_of_schedule(&record);
                let rest = all.range((Bound::Excluded(run.after), Bound::Unbounded));
                rest.map(|(_, member)| member.clone()).take(AT_ONCE).collect()
            };
            if members.is_empty() {
                self.end_run(&mut record, run, is_due).await?;
                drop(changes);
                return Ok(record);
            }
            record.run = Some(run);
            match self.take_snapshots(&mut record, &members).await {
                Ok(()) => {}
                Err(error) if self.goes_on(&error) => {
                    // One of them has no room; the others have their snapshots one by one.
                    for member in members {
                        self.take_or_skip(&mut record, member).await?;
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// True if a run goes on without the member that has this error.
    fn goes_on(&self, error: &ControlError) -> bool {
        error.code() != "pool-stopped" && self.live().pool_stopped().is_none()
    }

    /// Takes the snapshot of one member, or notes why not.
    async fn take_or_skip(&self, record: &mut ScheduleRecord, member: Content) -> Result<(), ControlError> {
        match self.take_snapshots(record, std::slice::from_ref(&member)).await {
            Err(error) if self.goes_on(&error) => {
                if let Some(run) = &mut record.run {
                    run.after = member.id;
                    run.result.skipped = run.result.skipped.saturating_add(1);
                    run.result.reason.get_or_insert_with(|| error.to_string());
                }
                self.store_run(Vec::new(), Vec::new(), record, &[]).await
            }
            result => result,
        }
    }

    /// Takes snapshots of these members at one instant, with the progress of the run.
    async fn take_snapshots(&self, record: &mut ScheduleRecord, members: &[Content]) -> Result<(), ControlError> {
        let mut after = record.clone();
        let (Some(run), Some(last)) = (&mut after.run, members.last()) else { return Ok(()) };
        run.after = last.id;
        let created = self.environment().now();
        self.check_snapshot_room(members.len())?;
        let (mut changes, mut edits, mut published) = (Vec::new(), Vec::new(), Vec::new());
        for member in members {
            let object = self.catalog().new_object_id();
            let snapshot = SnapshotRecord {
                schedule: Some(record.id),
                locked_until: self.lock_end(record.lock_seconds),
                group: Some(run.group),
                ..SnapshotRecord::new(
                    new_id(&**self.environment()),
                    object,
                    self.name_of_run(record, run.result.due, member),
                    member.id,
                    created,
                )
            };
            changes.push(CatalogChange::CloneObject { source: member.object, id: object, kind: ObjectKind::Snapshot });
            changes.extend(snapshot.lock_object());
            changes.push(snapshot.put()?);
            published.extend(self.snapshots_changed(member.id));
            edits.push(snapshot.into());
        }
        if record.lock_seconds.is_some() {
            changes.push(self.put_time()?);
        }
        run.result.taken = run.result.taken.saturating_add(u32::try_from(members.len()).unwrap_or(u32::MAX));
        self.store_run(changes, edits, &after, &published).await?;
        *record = after;
        Ok(())
    }

    /// Name of a snapshot: that of the schedule and the time at which the run was due. If it exists, the
    /// clock was set back.
    fn name_of_run(&self, record: &ScheduleRecord, due: Timestamp, member: &Content) -> String {
        let name = format!("{}.{}", record.name, due.strftime("%Y-%m-%dT%H%M%SZ"));
        let directory = self.directory();
        let is_free = |name: &String| directory.snapshot_of(member.id, name).is_none();
        let others = (2..=MOST_OF_ONE_TIME).map(|number| format!("{name}-{number}"));
        let unique = || format!("{name}-{}", self.catalog().last_object_id().0);
        std::iter::once(name.clone()).chain(others).find(is_free).unwrap_or_else(unique)
    }

    /// Ends a run: finds the time of the next one, and reports members without a snapshot.
    ///
    /// A run that a restart continues leaves the time of one that was missed meanwhile.
    async fn end_run(&self, record: &mut ScheduleRecord, run: RunRecord, is_due: bool) -> Result<(), ControlError> {
        let result = run.result;
        if is_due
            && result.due >= record.next
            && let Ok(zone) = zone(&record.zone)
        {
            record.next = record.when.next_after(result.due, &zone).unwrap_or(Timestamp::MAX);
        }
        record.run = None;
        record.last = Some(result.clone());
        self.store_run(Vec::new(), Vec::new(), record, &[]).await?;
        self.schedules().note(record.id);
        let name = &record.name;
        if result.skipped > 0 {
            let reason = result.reason.as_deref().unwrap_or_default();
            let message = format!("schedule {name} took no snapshot of {} members: {reason}", result.skipped);
            self.raise(Draft::new(Severity::Warning, "schedule-failed", name.clone(), message));
        }
        let late = result.started.duration_since(result.due);
        if late > LATE {
            let message = format!("schedule {name} was due at {:.0}, and ran at {:.0}", result.due, result.started);
            self.raise(Draft::new(Severity::Warning, "schedule-late", name.clone(), message));
        }
        Ok(())
    }

    /// Commits changes with the document of a schedule.
    pub(super) async fn store_run(
        &self,
        mut changes: Vec<CatalogChange>,
        mut edits: Vec<Edit>,
        record: &ScheduleRecord,
        published: &[Change],
    ) -> Result<(), ControlError> {
        changes.push(record.put()?);
        edits.push(record.clone().into());
        self.commit(changes, edits, published).await
    }

    /// Alerts of schedules that are overdue, or whose last run left members out.
    pub(crate) fn schedule_alerts(&self) -> Vec<AlertView> {
        let now = self.environment().now();
        let directory = self.directory();
        let mut alerts = Vec::new();
        for schedule in directory.schedules() {
            if !schedule.paused && now.duration_since(schedule.next) > LATE {
                alerts.push(AlertView {
                    code: "schedule-late",
                    severity: Severity::Warning,
                    subject: schedule.name.clone(),
                    since: schedule.next,
                    message: format!("schedule {} is due since {:.0}", schedule.name, schedule.next),
                    help: "see the other alerts for what keeps snapshots from being taken",
                    note: None,
                });
            }
            if let Some(last) = schedule.last.as_ref().filter(|last| last.skipped > 0) {
                let reason = last.reason.as_deref().unwrap_or_default();
                alerts.push(AlertView {
                    code: "schedule-failed",
                    severity: Severity::Warning,
                    subject: schedule.name.clone(),
                    since: last.started,
                    message: format!("its last run took no snapshot of {} members: {reason}", last.skipped),
                    help: "make room, and run the schedule",
                    note: None,
                });
            }
        }
        alerts
    }
}
