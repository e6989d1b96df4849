//! The trash in the directory.

use super::Directory;
use crate::catalog::DynCatalog;
use crate::condition::Noun;
use crate::error::ControlError;
use crate::trash::error::TrashError;
use crate::trash::record::{TrashRecord, Trashed};
use jiff::Timestamp;
use pool::{ObjectId, ObjectKind};
use uuid::Uuid;

impl Directory {
    /// Checks that every object in the trash exists in the pool. The volume of a snapshot may be
    /// gone: an older version of the program deletes it without looking into the trash.
    pub(super) fn check_trash(&self, catalog: &dyn DynCatalog) -> Result<(), ControlError> {
        for item in self.trash.values() {
            let kind = match item.what {
                Trashed::Volume(_) | Trashed::Share(_) => ObjectKind::Volume,
                Trashed::Snapshot(_) => ObjectKind::Snapshot,
            };
            if !catalog.object(item.what.object()).is_some_and(|info| info.kind == kind) {
                let reason = format!("{} {} in the trash has no object", item.what.noun(), item.what.name());
                return Err(ControlError::Damaged { reason });
            }
        }
        Ok(())
    }

    /// All in the trash, in order of creation.
    pub(crate) fn trash(&self) -> impl Iterator<Item = &TrashRecord> + Clone {
        self.trash.values()
    }

    /// Number of all in the trash.
    pub(crate) fn trash_count(&self) -> usize {
        self.trash.len()
    }

    /// Objects of all in the trash, sorted by id.
    pub(crate) fn trash_objects(&self) -> Vec<ObjectId> {
        self.index.trash_objects().collect()
    }

    /// Number of snapshots in the trash.
    pub(crate) fn trashed_snapshot_count(&self) -> usize {
        self.index.trashed_snapshot_count()
    }

    /// Object in the trash with this id.
    pub(crate) fn trash_by_id(&self, id: Uuid) -> Option<&TrashRecord> {
        self.trash.get(&id)
    }

    /// Snapshots in the trash of a volume or share, whether they were deleted with it or alone.
    pub(crate) fn trash_of(&self, source: Uuid) -> impl Iterator<Item = &TrashRecord> {
        self.index.trash_of(source).filter_map(|id| self.trash.get(&id))
    }

    /// Snapshots that were deleted with a volume or share.
    pub(crate) fn trash_with(&self, source: Uuid) -> impl Iterator<Item = &TrashRecord> {
        self.trash_of(source).filter(|item| item.with_source)
    }

    /// One in the trash, and the snapshots of it there, which do not stay without it.
    pub(crate) fn trash_parts<'a>(&'a self, item: &'a TrashRecord) -> impl Iterator<Item = &'a TrashRecord> {
        [item].into_iter().chain(self.trash_of(item.what.id()))
    }

    /// First that a lock keeps at this trusted time of one in the trash and its snapshots there, with the end of
    /// the lock.
    pub(crate) fn locked_trash(&self, id: Uuid, now: Timestamp) -> Option<(&TrashRecord, Timestamp)> {
        let mut all = self.trash.get(&id).into_iter().chain(self.trash_of(id));
        all.find_map(|item| Some((item, item.lock(now)?)))
    }

    /// Full name of an object in the trash, or on its way there or back.
    pub(crate) fn trash_name(&self, what: &Trashed) -> String {
        let Some(source) = what.source() else { return what.name().to_owned() };
        let in_trash = || self.trash.get(&source).map(|item| item.what.name());
        format!("{}@{}", self.content_name(source).or_else(in_trash).unwrap_or_default(), what.name())
    }

    /// Finds an object in the trash, of one kind or of any, by id, or by a full name that is unique there among that
    /// kind.
    pub(crate) fn trash_item(&self, name: &str, noun: Option<Noun>) -> Result<&TrashRecord, ControlError> {
        let is_kind = |item: &&TrashRecord| noun.is_none_or(|noun| item.what.noun() == noun);
        if let Some(item) = Uuid::try_parse(name).ok().and_then(|id| self.trash.get(&id)).filter(is_kind) {
            return Ok(item);
        }
        let is_named = |item: &&TrashRecord| is_kind(item) && self.trash_name(&item.what) == name;
        let mut named = self.trash.values().filter(is_named);
        match (named.next(), named.next()) {
            (None, _) => Err(ControlError::NotFound { noun: noun.unwrap_or(Noun::Trash), name: name.to_owned() }),
            (Some(item), None) => Ok(item),
            (Some(_), Some(_)) => {
                let all = self.trash.values().filter(is_named);
                let ids: Vec<String> = all.map(|item| item.what.id().to_string()).collect();
                Err(TrashError::AmbiguousName { name: name.to_owned(), candidates: ids.join(", ") }.into())
            }
        }
    }
}
