//! Deletion for good of what is in the trash: on request, when its time is over, and when hosts
//! need its space.

use super::record::{TrashRecord, Trashed};
use crate::control::Control;
use crate::directory::Edit;
use crate::effect::{BrokenKind, Rehearsal, Rehearsed};
use crate::error::ControlError;
use crate::events::{Draft, Severity};
use crate::record::Document;
use crate::request::Request;
use crate::snapshots::error::SnapshotError;
use crate::trash::error::TrashError;
use pool::CatalogChange;
use std::collections::BTreeSet;
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

    /// Of all, those that locks keep stay; if there are no others, the first of them is the error. An error after
    /// the first deletion comes with an event of those before.
    async fn run(&self, control: &Control) -> Result<Vec<String>, ControlError> {
        let _changes = control.lock_changes().await;
        let items = self.plan(control)?;
        let (mut names, mut kept) = (Vec::with_capacity(items.len()), None);
        for item in items {
            match control.delete_for_good(&item).await {
                Ok(name) => names.extend(name),
                Err(error) if error.code() == "locked" => kept = kept.or(Some(error)),
                Err(error) => {
                    self.event(&names).into_iter().for_each(|event| control.raise(event));
                    return Err(error);
                }
            }
        }
        match kept {
            Some(error) if names.is_empty() => Err(error),
            _ => Ok(names),
        }
    }

    fn event(&self, names: &Vec<String>) -> Option<Draft> {
        let subject = names.first()?;
        Some(Draft::info("trash-emptied", subject, format!("{} deleted for good", names.join(", "))))
    }
}

impl TrashEmpty {
    /// Finds what is to be deleted.
    fn plan(&self, control: &Control) -> Result<Vec<TrashRecord>, ControlError> {
        let directory = control.directory();
        Ok(match &self.item {
            Some(item) => vec![directory.trash_item(item, None)?.clone()],
            None => directory.trash().filter(|item| !item.with_source).cloned().collect(),
        })
    }
}

impl Rehearsed for TrashEmpty {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let (mut rehearsal, mut kept, mut goes) = (Rehearsal::default().frees([]), None, false);
        for item in self.plan(control)? {
            if let Err(error) = control.check_trash_unlocked(item.what.id()) {
                kept = kept.or(Some(error));
                continue;
            }
            goes = true;
            let directory = control.directory();
            let parts: Vec<&TrashRecord> = directory.trash_parts(&item).collect();
            rehearsal = rehearsal.frees(parts.iter().map(|part| part.what.object()));
            for part in parts {
                let name = directory.trash_name(&part.what);
                rehearsal = rehearsal.breaks(kind(&part.what), name, "it cannot be restored any more");
            }
        }
        match kept {
            Some(error) if !goes => Err(error),
            Some(error) => Ok(rehearsal.warns("locked", format!("what is locked stays: {error}"))),
            None => Ok(rehearsal),
        }
    }
}

const fn kind(what: &Trashed) -> BrokenKind {
    match what {
        Trashed::Volume(_) => BrokenKind::Volume,
        Trashed::Share(_) => BrokenKind::Share,
        Trashed::Snapshot(_) => BrokenKind::Snapshot,
    }
}

impl Control {
    /// Adds the changes and the edit that remove one from the trash for good.
    pub(super) fn remove_for_good(&self, item: &TrashRecord, changes: &mut Vec<CatalogChange>, edits: &mut Vec<Edit>) {
        changes.extend(self.deletion(item.what.object()).chain([item.delete()]));
        edits.push(Edit::Trash(item.what.id(), None));
    }

    /// Deletes one in the trash with the snapshots of it that are there, in one commit, under the
    /// caller's lock on changes. Returns its name; `None` if it is there no more.
    pub(super) async fn delete_for_good(&self, item: &TrashRecord) -> Result<Option<String>, ControlError> {
        let id = item.what.id();
        let (mut changes, mut edits) = (Vec::new(), Vec::new());
        let name = {
            let directory = self.directory();
            let Some(item) = directory.trash_by_id(id) else { return Ok(None) };
            directory.trash_parts(item).for_each(|item| self.remove_for_good(item, &mut changes, &mut edits));
            directory.trash_name(&item.what)
        };
        self.check_trash_unlocked(id)?;
        self.store(changes).await?;
        self.apply(edits);
        Ok(Some(name))
    }

    /// Deletes what the trash has kept long enough, by the time of day and as far as this run has seen time pass: a
    /// clock that is set forward empties no trash. The oldest goes first.
    pub(crate) async fn empty_expired_trash(&self) {
        let (now, elapsed) = (self.environment().now(), self.environment().monotonic());
        let over: BTreeSet<Uuid> = {
            let (directory, times) = (self.directory(), self.trash_times());
            let is_there = |id, deleted| directory.trash_by_id(id).is_some_and(|item| item.deleted == deleted);
            times.retain(is_there);
            let alone = directory.trash().filter(|item| !item.with_source);
            alone.filter(|item| times.is_over(item, now, elapsed)).map(|item| item.what.id()).collect()
        };
        if over.is_empty() || self.live().pool_stopped().is_some() {
            return;
        }
        let _changes = self.lock_changes().await;
        for item in self.oldest_trash(|item| over.contains(&item.what.id()), AT_ONCE) {
            // The next look tries again.
            let Ok(name) = self.delete_for_good(&item).await else { return };
            if let Some(name) = name {
                let message = format!("{} {name} deleted for good: its time in the trash is over", item.what.noun());
                self.raise(Draft::new(Severity::Info, "trash-emptied", name, message));
            }
        }
    }

    /// Checks that neither this one in the trash nor a snapshot of it there is locked. Errors: `Locked`, of the
    /// snapshot or of the trash.
    pub(super) fn check_trash_unlocked(&self, id: Uuid) -> Result<(), ControlError> {
        let now = self.trusted_now();
        let directory = self.directory();
        let Some((item, until)) = directory.locked_trash(id, now) else { return Ok(()) };
        let name = directory.trash_name(&item.what);
        Err(match item.snapshot().and_then(|snapshot| snapshot.lock(now)) {
            Some(_) => SnapshotError::Locked { name, until }.into(),
            None => TrashError::Locked { noun: item.what.noun(), name, until }.into(),
        })
    }

    /// True for what can be deleted alone, and is kept by no lock.
    fn is_free(&self, item: &TrashRecord) -> bool {
        !item.with_source && self.directory().locked_trash(item.what.id(), self.trusted_now()).is_none()
    }

    /// True if the trash has something that no lock keeps.
    pub(super) fn has_free_trash(&self) -> bool {
        self.directory().trash().any(|item| self.is_free(item))
    }

    /// The oldest of those in the trash that no lock keeps: at most `most`.
    pub(super) fn oldest_trash(&self, which: impl Fn(&TrashRecord) -> bool, most: usize) -> Vec<TrashRecord> {
        let directory = self.directory();
        let is_due = |item: &&TrashRecord| which(item) && self.is_free(item);
        let mut items: Vec<&TrashRecord> = directory.trash().filter(is_due).collect();
        items.sort_by_key(|item| (item.deleted, item.what.object()));
        items.into_iter().take(most).cloned().collect()
    }
}
