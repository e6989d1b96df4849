//! Snapshots: list, show, create, delete.

use crate::environment::new_id;
use crate::names::check_name;
use crate::record::Document;
use crate::unique::Patience;
use crate::{Control, ControlError, Directory, Noun, Reply, SnapshotRecord, SnapshotView, SourceRecord};
use pool::{Catalog, CatalogChange, ObjectKind};

impl<C: Catalog + 'static> Control<C> {
    pub(crate) async fn snapshot_list(&self, volume: Option<&str>) -> Result<Vec<SnapshotView>, ControlError> {
        let mut records: Vec<(String, SnapshotRecord)> = {
            let directory = self.directory();
            let volume = volume.map(|name| directory.volume(name).map(|volume| volume.id)).transpose()?;
            directory
                .snapshots
                .values()
                .filter(|snapshot| volume.is_none_or(|volume| snapshot.volume == volume))
                .map(|snapshot| (directory.full_name(snapshot), snapshot.clone()))
                .collect()
        };
        records.sort_by(|one, other| one.0.cmp(&other.0));
        let mut views = Vec::with_capacity(records.len());
        let mut patience = self.patience();
        for (_, record) in records {
            views.extend(self.snapshot_view(record, &mut patience).await?);
        }
        Ok(views)
    }

    pub(crate) async fn snapshot_show(&self, name: &str) -> Result<Reply, ControlError> {
        let record = self.directory().snapshot(name)?.clone();
        self.snapshot_reply(record, false).await
    }

    pub(crate) async fn snapshot_create(&self, volume: &str, name: String) -> Result<Reply, ControlError> {
        check_name(Noun::Snapshot, &name)?;
        let _changes = self.lock_changes().await;
        let volume = self.directory().volume(volume)?.clone();
        let existing = self.directory().snapshot_of(volume.id, &name).cloned();
        if let Some(existing) = existing {
            return self.snapshot_reply(existing, false).await;
        }
        let object = self.catalog.new_object_id();
        let record = SnapshotRecord {
            id: new_id(&*self.environment),
            object,
            name,
            volume: volume.id,
            created: self.environment.now(),
        };
        let clone = CatalogChange::CloneObject { source: volume.object, id: object, kind: ObjectKind::Snapshot };
        let stored = record.clone();
        let apply = |directory: &mut Directory| drop(directory.snapshots.insert(stored.id, stored));
        self.commit(vec![clone, record.put()?], apply, &[]).await?;
        self.snapshot_reply(record, true).await
    }

    pub(crate) async fn snapshot_delete(&self, name: &str) -> Result<Reply, ControlError> {
        let _changes = self.lock_changes().await;
        let record = self.directory().snapshot(name)?.clone();
        let changes = vec![CatalogChange::DeleteObject { id: record.object }, record.delete()];
        self.commit(changes, |directory| drop(directory.snapshots.remove(&record.id)), &[]).await?;
        Ok(Reply::Done)
    }

    /// The reply about one snapshot.
    async fn snapshot_reply(&self, record: SnapshotRecord, created: bool) -> Result<Reply, ControlError> {
        let name = record.name.clone();
        let view = self
            .snapshot_view(record, &mut self.patience())
            .await?
            .ok_or(ControlError::NotFound { noun: Noun::Snapshot, name })?;
        Ok(Reply::Snapshot { view: Box::new(view), created })
    }

    /// A snapshot with its space; absent when it was deleted meanwhile.
    async fn snapshot_view(
        &self,
        record: SnapshotRecord,
        patience: &mut Patience,
    ) -> Result<Option<SnapshotView>, ControlError> {
        let Some((object, unique_bytes)) = self.space_of(record.object, patience).await? else { return Ok(None) };
        let directory = self.directory();
        let Some(volume) = directory.volumes.get(&record.volume).map(|volume| volume.name.clone()) else {
            return Ok(None);
        };
        let source = Some(SourceRecord::Snapshot(record.id));
        let mut dependents: Vec<String> =
            directory.volumes.values().filter(|clone| clone.source == source).map(|clone| clone.name.clone()).collect();
        dependents.sort();
        drop(directory);
        Ok(Some(SnapshotView { record, object, unique_bytes, volume, dependents }))
    }
}
