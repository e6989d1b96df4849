//! Removal of snapshots that no rule of their schedule keeps, the oldest first.

use super::keep::{Taken, surplus};
use super::record::ScheduleRecord;
use super::when::zone;
use crate::control::Control;
use crate::error::ControlError;
use crate::snapshots::record::SnapshotRecord;
use crate::trash::record::Trashed;
use pool::ObjectId;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Largest number of snapshots that one look removes.
const AT_ONCE: usize = 64;

impl Control {
    /// Removes snapshots that no rule keeps, a few at a time. They pass through the trash after a change of the
    /// rules only: who may change a schedule may not delete for good.
    pub(crate) async fn retire_snapshots(&self) {
        let waiting = self.schedules().unretired();
        if waiting.is_empty() || self.live().pool_stopped().is_some() {
            return;
        }
        let mut left = AT_ONCE;
        for id in waiting {
            let _changes = self.lock_changes().await;
            let Some(record) = self.directory().schedule_by_id(id).cloned() else {
                self.schedules().retired(id);
                continue;
            };
            let mut gone = self.surplus_of(&record);
            let is_all = gone.len() <= left;
            gone.truncate(left);
            left -= gone.len();
            // The next look tries again.
            let is_changed = is_all && record.rules_changed;
            if (is_changed || !gone.is_empty()) && self.remove(record, gone, is_all).await.is_err() {
                return;
            }
            if !is_all {
                return;
            }
            self.schedules().retired(id);
        }
    }

    /// Snapshots of a schedule that no rule keeps, the oldest first.
    pub(super) fn surplus_of(&self, record: &ScheduleRecord) -> Vec<SnapshotRecord> {
        let Ok(zone) = zone(&record.zone) else { return Vec::new() };
        let now = self.trusted_now();
        let directory = self.directory();
        let mut gone: Vec<SnapshotRecord> = Vec::new();
        // Those of former members, too.
        let mut all: BTreeMap<Uuid, BTreeMap<ObjectId, &SnapshotRecord>> = BTreeMap::new();
        for snapshot in directory.snapshots_by(record.id) {
            all.entry(snapshot.volume).or_default().insert(snapshot.object, snapshot);
        }
        for own in all.values() {
            let taken = own.values().map(|snapshot| Taken {
                object: snapshot.object,
                at: snapshot.created,
                is_held: snapshot.pinned || snapshot.is_locked(now),
            });
            let surplus = surplus(taken.collect(), record.keep, record.keep_last, &zone);
            gone.extend(surplus.iter().filter_map(|taken| own.get(&taken.object)).map(|&snapshot| snapshot.clone()));
        }
        gone.sort_by_key(|snapshot| snapshot.object);
        gone
    }

    /// Removes snapshots, with the number of them in the document of the schedule. `is_all`: its rules have been
    /// applied then.
    async fn remove(
        &self,
        mut record: ScheduleRecord,
        gone: Vec<SnapshotRecord>,
        is_all: bool,
    ) -> Result<(), ControlError> {
        let (mut changes, mut edits, mut published) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(last) = &mut record.last {
            last.removed = last.removed.saturating_add(u32::try_from(gone.len()).unwrap_or(u32::MAX));
        }
        let times = self.times_of_trash().filter(|_| record.rules_changed);
        record.rules_changed &= !is_all;
        if !gone.is_empty() {
            changes.extend(self.time_of_lock(times)?);
        }
        for snapshot in gone {
            published.extend(self.snapshots_changed(snapshot.volume));
            self.remove_object(Trashed::Snapshot(snapshot), Vec::new(), false, times, &mut changes, &mut edits)?;
        }
        self.store_run(changes, edits, &record, &published).await
    }
}
