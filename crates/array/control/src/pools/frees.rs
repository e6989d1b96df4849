//! What frees space of a pool: objects that nothing of a host would miss, each with the bytes that deleting it frees.
//!
//! They are what is in the trash, snapshots, and volumes and shares that are granted to nobody. A volume or share
//! goes with its snapshots, and one in the trash with those of its snapshots that are there. Several objects together
//! may free more than the sum of their rows: [`SpaceWhatIf`](super::SpaceWhatIf) counts them together.

use crate::condition::Noun;
use crate::directory::Directory;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::page::{Column, Listed, column, counted_column};
use crate::pools::count;
use crate::read::Read;
use crate::snapshots::record::SnapshotRecord;
use crate::trash::record::TrashRecord;
use jiff::Timestamp;
use pool::ObjectId;
use uuid::Uuid;

/// Lists what frees space of a pool. Without another order, what frees most comes first.
#[derive(Clone, Debug)]
pub struct PoolFrees {
    /// Name of the pool.
    pub pool: String,
}

/// Kind of an object that could be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FreeableKind {
    /// In the trash.
    Trash,
    /// Snapshot.
    Snapshot,
    /// Volume that is granted to nobody.
    Volume,
    /// Share that is exported to nobody.
    Share,
}

impl FreeableKind {
    /// Word of the kind in every interface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trash => "trash",
            Self::Snapshot => "snapshot",
            Self::Volume => "volume",
            Self::Share => "share",
        }
    }
}

/// Object that could be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeableView {
    /// Kind.
    pub kind: FreeableKind,
    /// Id.
    pub id: Uuid,
    /// Full name; in the trash, that at its deletion.
    pub name: String,
    /// True for a snapshot of a share.
    pub of_share: bool,
    /// Number of snapshots that go with it.
    pub snapshots: u64,
    /// Bytes that deleting it, with those snapshots, would free; absent until counted.
    pub frees_bytes: Option<u64>,
    /// Time of the creation; in the trash, of the deletion.
    pub since: Timestamp,
    /// End of the lock of it, or of a snapshot that would go with it; it may be over.
    pub locked_until: Option<Timestamp>,
}

/// Identity of a row.
type Row = (FreeableKind, Uuid);

/// Record of a row.
enum Record<'a> {
    Trash(&'a TrashRecord),
    Snapshot(&'a SnapshotRecord),
    /// Volume or share: id, object, name, and time of its creation.
    Content(Uuid, ObjectId, &'a str, Timestamp),
}

impl Record<'_> {
    fn name(&self, directory: &Directory) -> String {
        match self {
            Self::Trash(item) => directory.trash_name(&item.what),
            Self::Snapshot(snapshot) => directory.full_name(snapshot),
            Self::Content(_, _, name, _) => (*name).to_owned(),
        }
    }

    fn since(&self) -> Timestamp {
        match self {
            Self::Trash(item) => item.deleted,
            Self::Snapshot(snapshot) => snapshot.created,
            Self::Content(_, _, _, created) => *created,
        }
    }

    /// Objects that go, sorted by id.
    fn objects(&self, facts: &dyn Facts) -> Vec<ObjectId> {
        match self {
            Self::Trash(item) => facts.trash_objects_of(item),
            Self::Snapshot(snapshot) => vec![snapshot.object],
            Self::Content(id, object, _, _) => facts.content_objects(*object, *id),
        }
    }

    fn locked_until(&self, directory: &Directory) -> Option<Timestamp> {
        match self {
            Self::Trash(item) => directory.trash_parts(item).filter_map(TrashRecord::lock_end).max(),
            Self::Snapshot(snapshot) => snapshot.locked_until,
            Self::Content(id, ..) => directory.snapshots_of(*id).filter_map(|of| of.locked_until).max(),
        }
    }

    /// Number of snapshots that go with it.
    fn snapshots(&self, directory: &Directory) -> u64 {
        count(match self {
            Self::Trash(item) => directory.trash_parts(item).count().saturating_sub(1),
            Self::Snapshot(_) => 0,
            Self::Content(id, ..) => directory.snapshots_of(*id).count(),
        })
    }
}

fn record<'a>(facts: &'a dyn Facts, (kind, id): &Row) -> Option<Record<'a>> {
    let directory = facts.directory();
    match kind {
        FreeableKind::Trash => directory.trash_by_id(*id).map(Record::Trash),
        FreeableKind::Snapshot => directory.snapshot_by_id(*id).map(Record::Snapshot),
        FreeableKind::Volume => {
            let volume = directory.volume_by_id(*id)?;
            Some(Record::Content(volume.id, volume.object, &volume.name, volume.created))
        }
        FreeableKind::Share => {
            let share = directory.share_by_id(*id)?;
            Some(Record::Content(share.id, share.object, &share.name, share.created))
        }
    }
}

fn frees_bytes(facts: &dyn Facts, row: &Row) -> Option<u64> {
    facts.unique_bytes(&record(facts, row)?.objects(facts))
}

impl Read for PoolFrees {
    type Reply = Vec<FreeableView>;
    const NAME: &'static str = "pool-frees";

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        self.all_counted(facts)
    }

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<FreeableView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for PoolFrees {
    type View = FreeableView;
    type Row = Row;
    const COLUMNS: &'static [Column<Row>] = &[
        counted_column("frees_bytes", |facts, row| frees_bytes(facts, row).into()),
        column("kind", |_, (kind, _)| kind.name().into()),
        column("name", |facts, row| record(facts, row).map(|record| record.name(facts.directory())).as_deref().into()),
        column("since", |facts, row| record(facts, row).map(|record| record.since()).into()),
    ];
    const DEFAULT_SORT: Option<&'static str> = Some("-frees_bytes");
    const HAS_COUNTS: bool = true;

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, Row)>, ControlError> {
        if self.pool != facts.pool_name() {
            return Err(ControlError::NotFound { noun: Noun::Pool, name: self.pool.clone() });
        }
        let directory = facts.directory();
        let trash = directory.trash().filter(|item| !item.with_source);
        let trash = trash.map(|item| (FreeableKind::Trash, item.what.id()));
        let snapshots = directory.snapshots().map(|snapshot| (FreeableKind::Snapshot, snapshot.id));
        let volumes = directory.volumes().filter(|volume| directory.access_of(volume.id).next().is_none());
        let volumes = volumes.map(|volume| (FreeableKind::Volume, volume.id));
        let shares = directory.shares().filter(|share| directory.exports_by_share(share.id).next().is_none());
        let shares = shares.map(|share| (FreeableKind::Share, share.id));
        let keyed = |row: Row| (format!("{} {}", row.0.name(), row.1), row);
        let mut rows: Vec<_> = trash.chain(snapshots).chain(volumes).chain(shares).map(keyed).collect();
        rows.sort_unstable();
        Ok(rows)
    }

    fn texts(facts: &dyn Facts, row: &Row) -> Vec<String> {
        record(facts, row).map(|record| vec![record.name(facts.directory())]).unwrap_or_default()
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<Row>) -> Vec<FreeableView> {
        let directory = facts.directory();
        let view = |row: Row| {
            let record = record(facts, &row)?;
            let of_share = matches!(record, Record::Snapshot(of) if directory.share_by_id(of.volume).is_some());
            Some(FreeableView {
                kind: row.0,
                id: row.1,
                name: record.name(directory),
                of_share,
                snapshots: record.snapshots(directory),
                frees_bytes: facts.unique_bytes(&record.objects(facts)),
                since: record.since(),
                locked_until: record.locked_until(directory),
            })
        };
        rows.into_iter().filter_map(view).collect()
    }

    fn counted_of(&self, facts: &dyn Facts, rows: &[Row]) -> Vec<Vec<ObjectId>> {
        rows.iter().filter_map(|row| Some(record(facts, row)?.objects(facts))).collect()
    }
}
