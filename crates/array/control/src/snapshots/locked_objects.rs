//! Locks in the pool. The object of a locked snapshot is locked, too: the pool deletes it for no request before
//! the hour that the object holds.

use crate::control::Control;
use crate::directory::Edit;
use crate::error::ControlError;
use crate::events::{Draft, Severity};
use crate::record::Document;
use crate::snapshots::error::SnapshotError;
use crate::snapshots::record::SnapshotRecord;
use crate::trash::record::{TrashRecord, Trashed};
use crate::trusted_time::hour::{full_hour, hour_of};
use pool::{CatalogChange, ObjectId};

/// Largest number of objects that one commit locks.
const AT_ONCE: usize = 256;

impl SnapshotRecord {
    /// Change that locks the object until the end of the document's lock. The end is a full hour.
    pub(crate) fn lock_object(&self) -> Option<CatalogChange> {
        Some(CatalogChange::Lock { id: self.object, until: hour_of(self.locked_until?)? })
    }
}

impl Control {
    /// Changes that delete an object; a lock that is over ends first.
    pub(crate) fn deletion(&self, object: ObjectId) -> impl Iterator<Item = CatalogChange> + use<> {
        let is_locked = self.catalog().object(object).is_some_and(|info| info.locked_until.is_some());
        let now = hour_of(self.trusted_now()).filter(|_| is_locked);
        let unlock = now.map(|now| CatalogChange::Unlock { id: object, now });
        unlock.into_iter().chain([CatalogChange::DeleteObject { id: object }])
    }

    /// Checks that a snapshot may be deleted. Errors: `Locked`.
    pub(crate) fn check_unlocked(&self, snapshot: &SnapshotRecord) -> Result<(), ControlError> {
        match snapshot.lock(self.trusted_now()) {
            Some(until) => Err(SnapshotError::Locked { name: self.directory().full_name(snapshot), until }.into()),
            None => Ok(()),
        }
    }

    /// Locks the objects of snapshots that only their documents say are locked, as a release before objects could
    /// be locked left them. An error raises an event: their documents alone protect them until the next start, which
    /// tries again.
    pub(crate) async fn lock_objects(&self) {
        let now = self.trusted_now();
        let due: Vec<(SnapshotRecord, Option<TrashRecord>)> = {
            let directory = self.directory();
            let in_trash = directory.trash().filter_map(|item| Some((item.snapshot()?, Some(item))));
            let all = directory.snapshots().map(|snapshot| (snapshot, None)).chain(in_trash);
            let is_due = |snapshot: &SnapshotRecord| {
                let info = self.catalog().object(snapshot.object);
                snapshot.is_locked(now) && info.is_some_and(|info| info.locked_until.is_none())
            };
            let due = all.filter(|(snapshot, _)| is_due(snapshot));
            due.map(|(snapshot, item)| (snapshot.clone(), item.cloned())).collect()
        };
        for (done, some) in due.chunks(AT_ONCE).enumerate() {
            if let Err(error) = self.lock_some(some).await {
                let left = due.len().saturating_sub(done * AT_ONCE);
                let message = format!(
                    "{left} locked snapshots of an older release could not be locked in the pool: {error}; the next \
                     start of the array tries again"
                );
                self.raise(Draft::new(Severity::Warning, "locks-not-adopted", self.pool().name().to_owned(), message));
                return;
            }
        }
    }

    /// Locks objects in one commit, with documents whose ends are full hours.
    async fn lock_some(&self, some: &[(SnapshotRecord, Option<TrashRecord>)]) -> Result<(), ControlError> {
        let (mut changes, mut edits) = (Vec::new(), Vec::new());
        for (snapshot, item) in some {
            let record = SnapshotRecord { locked_until: snapshot.locked_until.map(full_hour), ..snapshot.clone() };
            changes.extend(record.lock_object());
            let (put, edit) = match item {
                Some(item) => {
                    let record = TrashRecord { what: Trashed::Snapshot(record), ..item.clone() };
                    (record.put()?, Edit::from(record))
                }
                None => (record.put()?, Edit::from(record)),
            };
            changes.push(put);
            edits.push(edit);
        }
        self.store(changes).await?;
        self.apply(edits);
        Ok(())
    }
}
