//! List of snapshots.

use super::{SnapshotRecord, SnapshotView};
use crate::error::ControlError;
use crate::facts::Facts;
use crate::page::{Column, Listed, column, counted_column};
use crate::read::Read;
use jiff::Timestamp;
use pool::{ObjectId, ObjectInfo};
use uuid::Uuid;

/// Lists snapshots by volume or share, and name: those that match every field that is set.
#[derive(Clone, Debug, Default)]
pub struct SnapshotList {
    /// Only snapshots of this volume or share.
    pub volume: Option<String>,
    /// Only snapshots taken before this time.
    pub older_than: Option<Timestamp>,
}

impl Read for SnapshotList {
    type Reply = Vec<SnapshotView>;
    const NAME: &'static str = "snapshot-list";

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        self.records(facts).unwrap_or_default().into_iter().map(|snapshot| vec![snapshot.object]).collect()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<SnapshotView>, ControlError> {
        self.all(facts)
    }
}

fn record<'a>(facts: &'a dyn Facts, id: &Uuid) -> Option<&'a SnapshotRecord> {
    facts.directory().snapshot_by_id(*id)
}

fn object(facts: &dyn Facts, id: &Uuid) -> Option<ObjectInfo> {
    facts.object(record(facts, id)?.object)
}

impl Listed for SnapshotList {
    type View = SnapshotView;
    type Row = Uuid;
    const COLUMNS: &'static [Column<Uuid>] = &[
        column("name", |facts, id| record(facts, id).map(|snapshot| snapshot.name.as_str()).into()),
        column("volume", |facts, id| {
            record(facts, id).and_then(|snapshot| facts.directory().content_name(snapshot.volume)).into()
        }),
        column("mapped_bytes", |facts, id| object(facts, id).map(|object| object.mapped_bytes).into()),
        counted_column("unique_bytes", |facts, id| {
            record(facts, id).and_then(|snapshot| facts.unique_bytes(&[snapshot.object])).into()
        }),
        column("created", |facts, id| record(facts, id).map(|snapshot| snapshot.created).into()),
    ];
    const HAS_COUNTS: bool = true;

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, Uuid)>, ControlError> {
        let named = |snapshot: &SnapshotRecord| (facts.directory().full_name(snapshot), snapshot.id);
        let mut rows: Vec<(String, Uuid)> = self.records(facts)?.into_iter().map(named).collect();
        rows.sort_unstable();
        Ok(rows)
    }

    fn texts(facts: &dyn Facts, id: &Uuid) -> Vec<String> {
        record(facts, id).map(|snapshot| vec![facts.directory().full_name(snapshot)]).unwrap_or_default()
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<Uuid>) -> Vec<SnapshotView> {
        let records = rows.iter().filter_map(|id| record(facts, id));
        records.filter_map(|record| facts.snapshot_view(record.clone())).collect()
    }

    fn counted_of(&self, facts: &dyn Facts, rows: &[Uuid]) -> Vec<Vec<ObjectId>> {
        let records = rows.iter().filter_map(|id| record(facts, id));
        records.map(|record| vec![record.object]).collect()
    }
}

impl SnapshotList {
    fn records<'a>(&self, facts: &'a dyn Facts) -> Result<Vec<&'a SnapshotRecord>, ControlError> {
        let directory = facts.directory();
        let mut records: Vec<&SnapshotRecord> = match &self.volume {
            Some(volume) => directory.snapshots_of(directory.content(volume)?.id).collect(),
            None => directory.snapshots().collect(),
        };
        records.retain(|snapshot| self.older_than.is_none_or(|time| snapshot.created < time));
        Ok(records)
    }
}
