//! Snapshots of schedules that make room for hosts: when the trash has nothing left, the oldest that is neither
//! pinned nor locked goes before a write is refused.

use crate::control::Control;
use crate::error::ControlError;
use crate::events::{Draft, Severity};
use crate::snapshots::record::SnapshotRecord;
use crate::trash::record::Trashed;

/// Largest number of snapshots that one look deletes. Those of a volume often free little one by one.
const AT_ONCE: usize = 8;

impl Control {
    /// Deletes the oldest snapshots of schedules for good that nobody has pinned or locked, under the caller's lock on
    /// changes, each with an event. False if there is none.
    pub(crate) async fn give_up_snapshots(&self) -> Result<bool, ControlError> {
        let now = self.trusted_now();
        let oldest = {
            let directory = self.directory();
            let is_free = |snapshot: &&SnapshotRecord| !snapshot.pinned && !snapshot.is_locked(now);
            let mut all: Vec<&SnapshotRecord> = directory.scheduled_snapshots().filter(is_free).collect();
            // There may be tens of thousands, and a host waits: only the oldest are put in order.
            if all.len() > AT_ONCE {
                all.select_nth_unstable_by_key(AT_ONCE, |snapshot| snapshot.object);
                all.truncate(AT_ONCE);
            }
            all.sort_unstable_by_key(|snapshot| snapshot.object);
            all.into_iter().cloned().collect::<Vec<_>>()
        };
        if oldest.is_empty() {
            return Ok(false);
        }
        let names: Vec<String> = oldest.iter().map(|snapshot| self.directory().full_name(snapshot)).collect();
        let (mut changes, mut edits, mut published) = (Vec::new(), Vec::new(), Vec::new());
        for snapshot in oldest {
            published.extend(self.snapshots_changed(snapshot.volume));
            self.remove_object(Trashed::Snapshot(snapshot), Vec::new(), false, None, &mut changes, &mut edits)?;
        }
        self.commit(changes, edits, &published).await?;
        for name in names {
            let message = format!("snapshot {name} deleted for good before its schedule would: hosts need its space");
            self.raise(Draft::new(Severity::Warning, "snapshot-given-up", name, message));
        }
        Ok(true)
    }
}
