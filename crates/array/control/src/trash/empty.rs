//! Deletion for good of what is in the trash: on request, when its time is over, and when hosts
//! need its space.

use super::record::{TrashRecord, Trashed};
use crate::control::Control;
use crate::directory::Edit;
use crate::error::ControlError;
use crate::events::{Draft, Severity};
use crate::record::Document;
use crate::request::Request;
use crate::snapshots::error::SnapshotError;
use jiff::Timestamp;
use pool::CatalogChange;
use uuid::Uuid;

/// Largest number of objects whose time is over that one look deletes.
const AT_ONCE: usize = 64;

/// Deletes for good what is in the trash. The reply has the full names.
#[derive(Clone, Debug, Default)]
pub struct TrashEmpty {
    /// Full name or id; absent: all.
    pub item: Option<String>,
}

impl Request for TrashEmpty {
    type Reply = Vec<String>;
    const NAME: &'static str = "trash-empty";

    async fn run(&self, control: &Control) -> Result<Vec<String>, ControlError> {
        let _changes = control.lock_changes().await;
        let items: Vec<TrashRecord> = {
            let directory = control.directory();
            match &self.item {
                Some(item) => vec![directory.trash_item(item)?.clone()],
                None => directory.trash().filter(|item| !item.with_source).cloned().collect(),
            }
        };
        let mut names = Vec::with_capacity(items.len());
        for item in items {
            names.extend(control.delete_for_good(&item).await?);
        }
        Ok(names)
    }

    fn event(&self, names: &Vec<String>) -> Option<Draft> {
        let subject = names.first()?;
        Some(Draft::info("trash-emptied", subject, format!("{} deleted for good", names.join(", "))))
    }
}

impl Control {
    /// Deletes one in the trash with the snapshots of it that are there, in one commit, under the
    /// caller's lock on changes. Returns its name; `None` if it is there no more.
    pub(super) async fn delete_for_good(&self, item: &TrashRecord) -> Result<Option<String>, ControlError> {
        let id = item.what.id();
        let (name, gone): (String, Vec<TrashRecord>) = {
            let directory = self.directory();
            let Some(item) = directory.trash_by_id(id) else { return Ok(None) };
            let is_source = item.what.source().is_none();
            let snapshots = directory.trash_of(id).filter(|_| is_source);
            (directory.trash_name(&item.what), [item].into_iter().chain(snapshots).cloned().collect())
        };
        self.check_trash_unlocked(id)?;
        let mut changes = Vec::with_capacity(2 * gone.len());
        for item in &gone {
            changes.extend([CatalogChange::DeleteObject { id: item.what.object() }, item.delete()]);
        }
        self.store(changes).await?;
        self.apply(gone.iter().map(|item| Edit::Trash(item.what.id(), None)).collect());
        Ok(Some(name))
    }

    /// Deletes what the trash has kept long enough, the oldest first.
    pub(crate) async fn empty_expired_trash(&self) {
        let now = self.environment().now();
        if self.live().pool_stopped().is_some() || self.oldest_trash(Some(now), 1).is_empty() {
            return;
        }
        let _changes = self.lock_changes().await;
        for item in self.oldest_trash(Some(now), AT_ONCE) {
            // The next look tries again.
            let Ok(name) = self.delete_for_good(&item).await else { return };
            if let Some(name) = name {
                let message = format!("{} {name} deleted for good: its time in the trash is over", item.what.noun());
                self.raise(Draft::new(Severity::Info, "trash-emptied", name, message));
            }
        }
    }

    /// Checks that neither this one in the trash nor a snapshot of it there is locked. Errors: `Locked`.
    pub(super) fn check_trash_unlocked(&self, id: Uuid) -> Result<(), ControlError> {
        let now = self.trusted_now();
        let directory = self.directory();
        let all = directory.trash_by_id(id).into_iter().chain(directory.trash_of(id));
        for item in all.filter(|item| item.is_locked(now)) {
            if let Trashed::Snapshot(snapshot) = &item.what {
                let (name, until) = (directory.trash_name(&item.what), snapshot.locked_until.unwrap_or(now));
                return Err(SnapshotError::Locked { name, until }.into());
            }
        }
        Ok(())
    }

    /// The oldest in the trash: at most `most`, or of those only the ones whose time was over at
    /// `over`. Without those that locks keep.
    pub(super) fn oldest_trash(&self, over: Option<Timestamp>, most: usize) -> Vec<TrashRecord> {
        let directory = self.directory();
        let is_free = |item: &TrashRecord| self.check_trash_unlocked(item.what.id()).is_ok();
        let is_due =
            |item: &&TrashRecord| !item.with_source && over.is_none_or(|over| item.until <= over) && is_free(item);
        let mut items: Vec<&TrashRecord> = directory.trash().filter(is_due).collect();
        items.sort_by_key(|item| (item.deleted, item.what.object()));
        items.into_iter().take(most).cloned().collect()
    }
}
