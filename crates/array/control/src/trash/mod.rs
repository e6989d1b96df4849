//! Trash: deleted volumes, shares and snapshots, which can be restored until their time is over.
//! `discard.rs` puts them there, `restore.rs` brings them back, `empty.rs` deletes them for good, `yielding.rs` does
//! so when hosts need their space.
//!
//! What is in the trash keeps its id, its object and its content. Its document stands below
//! `trash/`, in place of its own: no host can see it, its name is free, and it cannot be cloned.
//! Both ways are one commit. Objects in the trash count as used space, in a term of their own.

pub(crate) mod discard;
pub(crate) mod empty;
pub(crate) mod error;
pub(crate) mod part;
pub(crate) mod record;
mod restore;
mod yielding;

pub use discard::Deleted;
pub use empty::TrashEmpty;
pub use error::TrashError;
pub use record::{TrashRecord, Trashed};
pub use restore::{Restored, TrashRestore};

use crate::error::ControlError;
use crate::facts::Facts;
use crate::page::{Column, Listed, column, counted_column};
use crate::pools::count;
use crate::read::Read;
use jiff::Timestamp;
use pool::ObjectId;
use uuid::Uuid;

/// Lists what is in the trash: volumes, shares, and snapshots that were deleted alone.
#[derive(Clone, Debug, Default)]
pub struct TrashList;

/// Object in the trash.
#[derive(Clone, Debug, PartialEq)]
pub struct TrashView {
    /// Its document.
    pub record: TrashRecord,
    /// Full name at its deletion: `volume`, or `volume@snapshot`.
    pub name: String,
    /// Size that hosts saw; absent for a share.
    pub size_bytes: Option<u64>,
    /// Number of snapshots that were deleted with it.
    pub snapshots: u64,
    /// Bytes that deleting it, with all its snapshots in the trash, would free; absent until counted.
    pub unique_bytes: Option<u64>,
    /// End of the lock of it, or of a snapshot of it in the trash; it may be over.
    pub locked_until: Option<Timestamp>,
}

impl Read for TrashList {
    type Reply = Vec<TrashView>;
    const NAME: &'static str = "trash-list";

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        self.all_counted(facts)
    }

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<TrashView>, ControlError> {
        self.all(facts)
    }
}

fn record<'a>(facts: &'a dyn Facts, id: &Uuid) -> Option<&'a TrashRecord> {
    facts.directory().trash_by_id(*id)
}

impl Listed for TrashList {
    type View = TrashView;
    type Row = Uuid;
    const COLUMNS: &'static [Column<Uuid>] = &[
        column("until", |facts, id| record(facts, id).map(|item| item.until).into()),
        column("deleted", |facts, id| record(facts, id).map(|item| item.deleted).into()),
        column("name", |facts, id| record(facts, id).map(|item| item.what.name()).into()),
        counted_column("unique_bytes", |facts, id| {
            record(facts, id).and_then(|item| facts.unique_bytes(&facts.trash_objects_of(item))).into()
        }),
    ];
    const HAS_COUNTS: bool = true;

    /// By the time at which they go, the first one first.
    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, Uuid)>, ControlError> {
        let alone = facts.directory().trash().filter(|item| !item.with_source);
        let key = |item: &TrashRecord| format!("{:020} {}", item.until.as_millisecond(), item.what.id());
        let mut rows: Vec<(String, Uuid)> = alone.map(|item| (key(item), item.what.id())).collect();
        rows.sort_unstable();
        Ok(rows)
    }

    fn texts(facts: &dyn Facts, id: &Uuid) -> Vec<String> {
        record(facts, id).map(|item| vec![facts.directory().trash_name(&item.what)]).unwrap_or_default()
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<Uuid>) -> Vec<TrashView> {
        let records = rows.iter().filter_map(|id| record(facts, id));
        records.filter_map(|record| facts.trash_view(record)).collect()
    }

    fn counted_of(&self, facts: &dyn Facts, rows: &[Uuid]) -> Vec<Vec<ObjectId>> {
        let records = rows.iter().filter_map(|id| record(facts, id));
        records.map(|record| facts.trash_objects_of(record)).collect()
    }
}

impl dyn Facts + '_ {
    /// Objects that go when one in the trash is deleted for good, sorted by id.
    pub(crate) fn trash_objects_of(&self, item: &TrashRecord) -> Vec<ObjectId> {
        let mut objects: Vec<ObjectId> = self.directory().trash_parts(item).map(|part| part.what.object()).collect();
        objects.sort_unstable();
        objects
    }

    /// Bytes that emptying the trash would free, as last counted.
    pub(crate) fn trash_bytes(&self) -> Option<u64> {
        let objects = self.directory().trash_objects();
        if objects.is_empty() { Some(0) } else { self.unique_bytes(&objects) }
    }

    /// View of one in the trash; absent if it was deleted for good meanwhile.
    pub(crate) fn trash_view(&self, record: &TrashRecord) -> Option<TrashView> {
        let (object, directory) = (self.object(record.what.object())?, self.directory());
        Some(TrashView {
            name: directory.trash_name(&record.what),
            size_bytes: (!object.is_address_space()).then_some(object.size_bytes),
            snapshots: count(directory.trash_with(record.what.id()).count()),
            unique_bytes: self.unique_bytes(&self.trash_objects_of(record)),
            locked_until: directory.trash_parts(record).filter_map(TrashRecord::lock_end).max(),
            record: record.clone(),
        })
    }
}
