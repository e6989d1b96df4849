//! Locks in the pool. The object of a locked snapshot is locked, too: the pool deletes it for no request before
//! the hour that the object holds.

use crate::control::Control;
use crate::directory::Edit;
use crate::error::ControlError;
use crate::record::Document;
use crate::snapshots::error::SnapshotError;
use crate::snapshots::record::SnapshotRecord;
use crate::trash::record::{TrashRecord, Trashed};
use crate::trusted_time::hour::{full_hour, hour_of};
use jiff::Timestamp;
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
    /// be locked left them. After an error, the next start tries again.
    pub(crate) async fn lock_objects(&self) {
        let now = self.trusted_now();
        let (snapshots, trash) = {
            let directory = self.directory();
            let is_due = |snapshot: &SnapshotRecord| {
                let info = self.catalog().object(snapshot.object);
                snapshot.is_locked(now) && info.is_some_and(|info| info.locked_until.is_none())
            };
            let snapshots: Vec<_> = directory.snapshots().filter(|snapshot| is_due(snapshot)).cloned().collect();
            let trash: Vec<_> = directory.trash().filter(|item| item.snapshot().is_some_and(is_due)).cloned().collect();
            (snapshots, trash)
        };
        for some in snapshots.chunks(AT_ONCE) {
            let locked = some.iter().map(|snapshot| locked(snapshot.clone(), |record| record));
            if !self.store_locked(locked).await {
                return;
            }
        }
        for some in trash.chunks(AT_ONCE) {
            let locked = some.iter().filter_map(|item| {
                let of = |snapshot| TrashRecord { what: Trashed::Snapshot(snapshot), ..item.clone() };
                Some(locked(item.snapshot()?.clone(), of))
            });
            if !self.store_locked(locked).await {
                return;
            }
        }
    }

    /// Stores locks with the documents that have their ends. False after an error.
    async fn store_locked<D: Document + Into<Edit>>(
        &self,
        locked: impl Iterator<Item = (Option<CatalogChange>, D)>,
    ) -> bool {
        let (mut changes, mut edits) = (Vec::new(), Vec::new());
        for (lock, record) in locked {
            let Ok(put) = record.put() else { return false };
            changes.extend(lock.into_iter().chain([put]));
            edits.push(record.into());
        }
        let is_stored = self.store(changes).await.is_ok();
        if is_stored {
            self.apply(edits);
        }
        is_stored
    }
}

/// Lock of a snapshot, with its document of the end in full hours.
fn locked<D>(snapshot: SnapshotRecord, document: impl FnOnce(SnapshotRecord) -> D) -> (Option<CatalogChange>, D) {
    let locked_until: Option<Timestamp> = snapshot.locked_until.map(full_hour);
    let record = SnapshotRecord { locked_until, ..snapshot };
    (record.lock_object(), document(record))
}
