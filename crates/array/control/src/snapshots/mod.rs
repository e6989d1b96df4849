//! Snapshots: list, show, delete. `create.rs` takes them, of one volume or of several at one
//! instant.

mod create;
mod tree;

pub(crate) mod record;

pub use create::{SnapshotCreate, SnapshotGroup};
pub use tree::{SnapshotTree, TreeView};

use crate::events::Draft;
use crate::pools::unique::Patience;
use crate::record::Document;
use crate::{Control, ControlError, Noun, Request, SnapshotRecord, SourceRecord};
use pool::{CatalogChange, ObjectInfo};

/// Lists snapshots by volume and name.
#[derive(Clone, Debug, Default)]
pub struct SnapshotList {
    /// Only snapshots of this volume.
    pub volume: Option<String>,
}

/// Shows one snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotShow {
    /// `volume@name`, id, or a name that is unique among all snapshots.
    pub snapshot: String,
}

/// Deletes a snapshot. The reply is its full name.
#[derive(Clone, Debug)]
pub struct SnapshotDelete {
    /// As in [`SnapshotShow`].
    pub snapshot: String,
}

/// Snapshot with its space.
#[derive(Clone, Debug)]
pub struct SnapshotView {
    /// Document of the snapshot.
    pub record: SnapshotRecord,
    /// Object of the snapshot.
    pub object: ObjectInfo,
    /// Bytes that deleting it would free; absent during the first count.
    pub unique_bytes: Option<u64>,
    /// Name of the volume.
    pub volume: String,
    /// Volumes cloned from it.
    pub dependents: Vec<String>,
}

impl Request for SnapshotList {
    type Reply = Vec<SnapshotView>;
    const NAME: &'static str = "snapshot-list";

    async fn run(&self, control: &Control) -> Result<Vec<SnapshotView>, ControlError> {
        let mut records: Vec<(String, SnapshotRecord)> = {
            let directory = control.directory();
            let volume =
                self.volume.as_deref().map(|name| directory.volume(name).map(|volume| volume.id)).transpose()?;
            directory
                .snapshots
                .values()
                .filter(|snapshot| volume.is_none_or(|volume| snapshot.volume == volume))
                .map(|snapshot| (directory.full_name(snapshot), snapshot.clone()))
                .collect()
        };
        records.sort_by(|one, other| one.0.cmp(&other.0));
        let mut views = Vec::with_capacity(records.len());
        let mut patience = control.patience();
        for (_, record) in records {
            views.extend(control.snapshot_view(record, &mut patience).await);
        }
        Ok(views)
    }
}

impl Request for SnapshotShow {
    type Reply = SnapshotView;
    const NAME: &'static str = "snapshot-show";

    async fn run(&self, control: &Control) -> Result<SnapshotView, ControlError> {
        let record = control.directory().snapshot(&self.snapshot)?.clone();
        control.show_snapshot(record).await
    }
}

impl Request for SnapshotDelete {
    type Reply = String;
    const NAME: &'static str = "snapshot-delete";

    async fn run(&self, control: &Control) -> Result<String, ControlError> {
        let _changes = control.lock_changes().await;
        let record = control.directory().snapshot(&self.snapshot)?.clone();
        let name = control.directory().full_name(&record);
        let changes = vec![CatalogChange::DeleteObject { id: record.object }, record.delete()];
        control.commit(changes, |directory| drop(directory.snapshots.remove(&record.id)), &[]).await?;
        Ok(name)
    }

    fn event(&self, name: &String) -> Option<Draft> {
        Some(Draft::info("snapshot-deleted", name, format!("snapshot {name} deleted")))
    }
}

impl Control {
    /// Counts one snapshot and returns its view. Errors: `NotFound` if it was deleted meanwhile.
    async fn show_snapshot(&self, record: SnapshotRecord) -> Result<SnapshotView, ControlError> {
        let name = record.name.clone();
        let view = self.snapshot_view(record, &mut self.patience()).await;
        view.ok_or(ControlError::NotFound { noun: Noun::Snapshot, name })
    }

    /// Error for the name of an existing snapshot. A repeated request would capture the content of
    /// another time, so it is not idempotent.
    pub(crate) fn taken_before(&self, existing: &SnapshotRecord) -> ControlError {
        let name = self.directory().full_name(existing);
        ControlError::Exists { noun: Noun::Snapshot, name, difference: format!(", taken {:.0}", existing.created) }
    }

    /// A snapshot with its space; absent when it was deleted meanwhile.
    async fn snapshot_view(&self, record: SnapshotRecord, patience: &mut Patience) -> Option<SnapshotView> {
        let (object, unique_bytes) = self.space_of(record.object, patience).await?;
        let directory = self.directory();
        let volume = directory.volumes.get(&record.volume).map(|volume| volume.name.clone())?;
        let source = Some(SourceRecord::Snapshot(record.id));
        let mut dependents: Vec<String> =
            directory.volumes.values().filter(|clone| clone.source == source).map(|clone| clone.name.clone()).collect();
        dependents.sort();
        drop(directory);
        Some(SnapshotView { record, object, unique_bytes, volume, dependents })
    }
}
