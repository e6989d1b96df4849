//! Deletion of volumes, shares and snapshots: to the trash, or for good.

use super::TrashView;
use super::error::TrashError;
use super::record::{TrashRecord, Trashed};
use crate::access::record::AccessRecord;
use crate::access::revocation;
use crate::control::Control;
use crate::directory::Edit;
use crate::effect::{BrokenKind, Rehearsal, names_in_words};
use crate::error::ControlError;
use crate::live::Change;
use crate::record::Document;
use crate::snapshots::record::SnapshotRecord;
use jiff::Timestamp;
use pool::CatalogChange;

/// Largest number of grants of a volume that its document can hold.
const MAX_GRANTS: usize = 200;

/// Reply to a deletion.
#[derive(Clone, Debug, PartialEq)]
pub struct Deleted {
    /// Full name of what was deleted.
    pub name: String,
    /// Its place in the trash; absent if it was deleted for good.
    pub trashed: Option<TrashView>,
}

impl Deleted {
    /// End of the sentence that reports the deletion.
    pub(crate) fn whereabouts(&self) -> String {
        let until = self.trashed.as_ref().map(|view| view.record.until);
        until.map(|until| format!("; the trash keeps it until {until:.0}")).unwrap_or_default()
    }
}

/// Objects that are deleted together.
pub(crate) struct Discard {
    /// Main object.
    pub what: Trashed,
    /// Its snapshots.
    pub snapshots: Vec<SnapshotRecord>,
    /// Grants of a volume, which are revoked.
    pub grants: Vec<AccessRecord>,
    /// Further changes of the commit.
    pub changes: Vec<CatalogChange>,
    /// Changes to publish at the end.
    pub published: Vec<Change>,
    /// True to delete for good.
    pub now: bool,
}

impl Trashed {
    /// Edit that removes the object from its own table.
    fn remove(&self) -> Edit {
        match self {
            Self::Volume(volume) => Edit::Volume(volume.id, None),
            Self::Share(share) => Edit::Share(share.id, None),
            Self::Snapshot(snapshot) => Edit::Snapshot(snapshot.id, None),
        }
    }

    /// Change that deletes the object's own document.
    fn delete(&self) -> CatalogChange {
        match self {
            Self::Volume(volume) => volume.delete(),
            Self::Share(share) => share.delete(),
            Self::Snapshot(snapshot) => snapshot.delete(),
        }
    }
}

/// Time of a deletion, and that at which the trash gives up what is deleted.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    deleted: Timestamp,
    until: Timestamp,
    /// End of the lock of the trash.
    locked_until: Option<Timestamp>,
}

impl Control {
    /// Deletes objects, in one commit, under the caller's lock on changes. Grants end before their
    /// volume does.
    pub(crate) async fn discard(&self, discard: Discard) -> Result<Deleted, ControlError> {
        self.check_expectation()?;
        let times = self.check_discard(&discard)?;
        let Discard { what, snapshots, grants, mut changes, published, .. } = discard;
        let (name, id, object) = (self.directory().trash_name(&what), what.id(), what.object());
        let revoked: Vec<Change> = grants.iter().map(|access| revocation(object, access)).collect();
        let revocations = grants.iter().map(|access| Edit::Access((access.volume, access.to()), None)).collect();
        changes.extend(grants.iter().map(Document::delete));
        let edits = self.remove_all(what, snapshots, grants, times, &mut changes)?;
        changes.extend(self.time_of_lock(times)?);
        let bytes = self.size_of_volume(object);
        self.store(changes).await?;
        self.pool().volumes_resized(bytes, 0);
        self.apply(revocations);
        self.publish(&revoked).await;
        self.apply(edits);
        if self.has_space_for_hosts() {
            // Hosts may need it before the next look.
            self.catalog().offer_space(true);
        }
        self.publish(&published).await;
        let record = self.directory().trash_by_id(id).cloned();
        let trashed = match record {
            Some(record) => {
                let objects = self.see(|facts| facts.trash_objects_of(&record));
                self.count(&objects, &mut self.patience()).await;
                self.see(|facts| facts.trash_view(&record))
            }
            None => None,
        };
        Ok(Deleted { name, trashed })
    }

    /// Checks that objects can be deleted. Returns their times in the trash; absent if they are deleted for good.
    fn check_discard(&self, discard: &Discard) -> Result<Option<Times>, ControlError> {
        let Discard { what, snapshots, grants, now, .. } = discard;
        let times = if *now { None } else { self.times_of_trash() };
        if times.is_none() {
            self.check_trash_passable(discard)?;
            snapshots.iter().try_for_each(|snapshot| self.check_unlocked(snapshot))?;
            self.check_trash_unlocked(what.id())?;
        } else if grants.len() > MAX_GRANTS {
            let name = self.directory().trash_name(what);
            return Err(TrashError::TooManyGrants { name, grants: grants.len(), most: MAX_GRANTS }.into());
        }
        Ok(times)
    }

    /// What a deletion would do, apart from what the users of the object lose.
    pub(crate) fn rehearse_discard(&self, discard: &Discard) -> Result<Rehearsal, ControlError> {
        let times = self.check_discard(discard)?;
        let (what, directory) = (&discard.what, self.directory());
        let orphans = directory.trash_of(what.id()).filter(|_| times.is_none());
        let objects = discard.snapshots.iter().map(|snapshot| snapshot.object).chain([what.object()]);
        let mut rehearsal = Rehearsal::default().frees(objects.chain(orphans.map(|orphan| orphan.what.object())));
        for snapshot in &discard.snapshots {
            rehearsal = rehearsal.breaks(BrokenKind::Snapshot, directory.full_name(snapshot), "it is deleted too");
        }
        if times.is_none() {
            for orphan in directory.trash_of(what.id()) {
                let name = directory.trash_name(&orphan.what);
                rehearsal =
                    rehearsal.breaks(BrokenKind::Snapshot, name, "it cannot be restored from the trash any more");
            }
        }
        for schedule in directory.schedules().filter(|schedule| directory.is_member(schedule, what.id())) {
            rehearsal =
                rehearsal.breaks(BrokenKind::Schedule, schedule.name.clone(), "it takes no more snapshots of it");
        }
        let sources = [what.clone()].into_iter().chain(discard.snapshots.iter().cloned().map(Trashed::Snapshot));
        let mut clones: Vec<String> = sources.flat_map(|source| directory.clone_names(source.as_source())).collect();
        if !clones.is_empty() {
            clones.sort();
            let message = format!("its clones stay, with their content: {}", names_in_words(&clones));
            rehearsal = rehearsal.warns("clones-stay", message);
        }
        Ok(match times {
            Some(Times { until, .. }) => {
                let message = format!(
                    "the trash keeps it until {until:.0}, unless hosts need its space before: until then it can be \
                     restored, and its space is not free"
                );
                rehearsal.warns("kept-in-trash", message)
            }
            None => rehearsal.warns("not-restorable", "it is deleted for good: nothing brings it back"),
        })
    }

    /// Times of what is deleted now; absent if the trash is off.
    pub(crate) fn times_of_trash(&self) -> Option<Times> {
        let (age, deleted) = (self.pool().trash_age(), self.environment().now());
        let lock_seconds = Some(self.pool().trash_lock_seconds()).filter(|seconds| *seconds > 0);
        age.is_positive().then(|| {
            let locked_until = self.lock_end(lock_seconds);
            let until = deleted.saturating_add(age).unwrap_or(deleted);
            Times { deleted, until: locked_until.map_or(until, |locked| locked.max(until)), locked_until }
        })
    }

    /// Change that stores trusted time, if these times begin a lock.
    pub(crate) fn time_of_lock(&self, times: Option<Times>) -> Result<Option<CatalogChange>, ControlError> {
        times.filter(|times| times.locked_until.is_some()).map(|_| self.put_time()).transpose()
    }

    /// Checks that objects may be deleted for good without having been in the trash. A volume that is being sanitized
    /// may: a host destroys its content, but not that of its snapshots. Errors: `MustPass` while the trash has a
    /// lock.
    fn check_trash_passable(&self, Discard { what, snapshots, .. }: &Discard) -> Result<(), ControlError> {
        let seconds = self.pool().trash_lock_seconds();
        let is_sanitized = || self.without_sanitize_operation(what.id()).is_some();
        let is_alone = || snapshots.is_empty() && self.directory().trash_of(what.id()).next().is_none();
        if seconds == 0 || (is_sanitized() && is_alone()) {
            return Ok(());
        }
        let name = self.directory().trash_name(what);
        Err(TrashError::MustPass { noun: what.noun(), name, seconds }.into())
    }

    /// Edits that remove an object and its snapshots, with the changes of the catalog: to the trash, or, without
    /// times, for good. Snapshots in the trash do not stay without their volume or share.
    fn remove_all(
        &self,
        what: Trashed,
        snapshots: Vec<SnapshotRecord>,
        grants: Vec<AccessRecord>,
        times: Option<Times>,
        changes: &mut Vec<CatalogChange>,
    ) -> Result<Vec<Edit>, ControlError> {
        let id = what.id();
        let mut edits = Vec::with_capacity(2 * (1 + snapshots.len()));
        self.remove_object(what, grants, false, times, changes, &mut edits)?;
        for snapshot in snapshots {
            self.remove_object(Trashed::Snapshot(snapshot), Vec::new(), true, times, changes, &mut edits)?;
        }
        if times.is_none() {
            for orphan in self.directory().trash_of(id) {
                self.remove_for_good(orphan, changes, &mut edits);
            }
        }
        Ok(edits)
    }

    /// Adds the changes and edits that remove one object: to the trash, or, without times, for good.
    pub(crate) fn remove_object(
        &self,
        what: Trashed,
        grants: Vec<AccessRecord>,
        with_source: bool,
        times: Option<Times>,
        changes: &mut Vec<CatalogChange>,
        edits: &mut Vec<Edit>,
    ) -> Result<(), ControlError> {
        changes.push(what.delete());
        edits.push(what.remove());
        if let Some(Times { deleted, until, locked_until }) = times {
            let record = TrashRecord { what, deleted, until, with_source, locked_until, grants };
            changes.push(record.put()?);
            edits.push(record.into());
        } else {
            changes.extend(self.deletion(what.object()));
        }
        Ok(())
    }
}
