//! `snapshot lock` and `snapshot pin`. A locked snapshot is deleted by nobody before its time, and its
//! lock only becomes longer. A pinned one is left alone by the rules of its schedule.

use super::SnapshotView;
use crate::control::Control;
use crate::error::ControlError;
use crate::events::Draft;
use crate::record::Document;
use crate::request::Request;
use crate::snapshots::error::SnapshotError;
use crate::snapshots::record::SnapshotRecord;
use crate::trusted_time::hour::full_hour;
use jiff::{SignedDuration, Timestamp};

/// Longest time for which a snapshot can be locked: ten years.
const MOST: SignedDuration = SignedDuration::from_hours(24 * 3660);

/// Locks a snapshot, or makes its lock longer.
#[derive(Clone, Debug)]
pub struct SnapshotLock {
    /// As in [`SnapshotShow`](super::SnapshotShow).
    pub snapshot: String,
    /// End of the lock; rounded up to a full hour.
    pub until: Timestamp,
}

/// Pins a snapshot, or releases it to the rules of its schedule.
#[derive(Clone, Debug)]
pub struct SnapshotPin {
    /// As in [`SnapshotShow`](super::SnapshotShow).
    pub snapshot: String,
    /// True to pin it.
    pub pinned: bool,
}

impl Request for SnapshotLock {
    type Reply = SnapshotView;
    const NAME: &'static str = "snapshot-lock";

    async fn run(&self, control: &Control) -> Result<SnapshotView, ControlError> {
        let _changes = control.lock_changes().await;
        let record = control.directory().snapshot(&self.snapshot)?.clone();
        let now = control.trusted_now();
        if self.until <= now || self.until.duration_since(now) > MOST {
            return Err(ControlError::InvalidSetting("a lock ends in the future, within ten years".to_owned()));
        }
        let end = full_hour(self.until);
        if let Some(until) = record.locked_until.filter(|until| *until > end) {
            let name = control.directory().full_name(&record);
            return Err(SnapshotError::Locked { name, until }.into());
        }
        let record = SnapshotRecord { locked_until: Some(end), ..record };
        let changes = [record.put()?, control.put_time()?].into_iter().chain(record.lock_object()).collect();
        control.commit(changes, vec![record.clone().into()], &[]).await?;
        control.show_snapshot(record).await
    }

    fn event(&self, view: &SnapshotView) -> Option<Draft> {
        let (volume, name) = (&view.volume, &view.record.name);
        Some(Draft::info(
            "snapshot-locked",
            volume,
            format!("snapshot {volume}@{name} locked until {:.0}", full_hour(self.until)),
        ))
    }
}

impl Request for SnapshotPin {
    type Reply = SnapshotView;
    const NAME: &'static str = "snapshot-pin";

    async fn run(&self, control: &Control) -> Result<SnapshotView, ControlError> {
        let _changes = control.lock_changes().await;
        let record = control.directory().snapshot(&self.snapshot)?.clone();
        if record.pinned == self.pinned {
            return control.show_snapshot(record).await;
        }
        let record = SnapshotRecord { pinned: self.pinned, ..record };
        control.commit(vec![record.put()?], vec![record.clone().into()], &[]).await?;
        if let Some(schedule) = record.schedule {
            control.schedules().note(schedule);
        }
        control.show_snapshot(record).await
    }

    fn event(&self, view: &SnapshotView) -> Option<Draft> {
        let (volume, name) = (&view.volume, &view.record.name);
        let done = if self.pinned { "pinned" } else { "released to the rules of its schedule" };
        Some(Draft::info("snapshot-pinned", volume, format!("snapshot {volume}@{name} {done}")))
    }
}
