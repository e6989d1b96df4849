//! Snapshots: list, show, create alone or of several volumes at one instant, delete.

use crate::environment::new_id;
use crate::names::check_name;
use crate::record::Document;
use crate::unique::Patience;
use crate::{Control, ControlError, Directory, Noun, Reply, SnapshotRecord, SnapshotView, SourceRecord, VolumeRecord};
use pool::{CatalogChange, ObjectKind};

/// Most volumes of a group.
const MAX_GROUP: usize = 256;

impl Control {
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
            views.extend(self.snapshot_view(record, &mut patience).await);
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
            return Err(self.taken_before(&existing));
        }
        let object = self.catalog.new_object_id();
        let record = SnapshotRecord {
            id: new_id(&*self.environment),
            object,
            name,
            volume: volume.id,
            created: self.environment.now(),
            group: None,
        };
        let clone = CatalogChange::CloneObject { source: volume.object, id: object, kind: ObjectKind::Snapshot };
        let stored = record.clone();
        let apply = |directory: &mut Directory| drop(directory.snapshots.insert(stored.id, stored));
        self.commit(vec![clone, record.put()?], apply, &[]).await?;
        self.snapshot_reply(record, true).await
    }

    /// Takes snapshots of several volumes in one commit: no write is in one and not in the other that came before it.
    pub(crate) async fn snapshot_group(&self, volumes: &[String], name: String) -> Result<Reply, ControlError> {
        check_name(Noun::Snapshot, &name)?;
        if !(1..=MAX_GROUP).contains(&volumes.len()) {
            return Err(ControlError::InvalidSetting(format!("a group has 1 to {MAX_GROUP} volumes")));
        }
        let _changes = self.lock_changes().await;
        let mut members: Vec<VolumeRecord> = Vec::with_capacity(volumes.len());
        for volume in volumes {
            let volume = self.directory().volume(volume)?.clone();
            if members.iter().all(|member| member.id != volume.id) {
                members.push(volume);
            }
        }
        let existing = {
            let directory = self.directory();
            members.iter().find_map(|volume| directory.snapshot_of(volume.id, &name)).cloned()
        };
        if let Some(existing) = existing {
            return Err(self.taken_before(&existing));
        }
        let (group, created) = (Some(new_id(&*self.environment)), self.environment.now());
        let mut changes = Vec::with_capacity(members.len() * 2);
        let mut records = Vec::with_capacity(members.len());
        for volume in members {
            let object = self.catalog.new_object_id();
            let id = new_id(&*self.environment);
            let record = SnapshotRecord { id, object, name: name.clone(), volume: volume.id, created, group };
            changes.push(CatalogChange::CloneObject { source: volume.object, id: object, kind: ObjectKind::Snapshot });
            changes.push(record.put()?);
            records.push(record);
        }
        let stored = records.clone();
        let apply = |directory: &mut Directory| {
            directory.snapshots.extend(stored.into_iter().map(|record| (record.id, record)))
        };
        self.commit(changes, apply, &[]).await?;
        self.group_reply(records, true).await
    }

    /// Refuses a name that a snapshot has. Its content is that of another time, so the same request given twice is not
    /// the same snapshot.
    pub(crate) fn taken_before(&self, existing: &SnapshotRecord) -> ControlError {
        let name = self.directory().full_name(existing);
        ControlError::Exists { noun: Noun::Snapshot, name, difference: format!(", taken {:.0}", existing.created) }
    }

    async fn group_reply(&self, records: Vec<SnapshotRecord>, created: bool) -> Result<Reply, ControlError> {
        let mut views = Vec::with_capacity(records.len());
        let mut patience = self.patience();
        for record in records {
            views.extend(self.snapshot_view(record, &mut patience).await);
        }
        Ok(Reply::Group { views, created })
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
            .await
            .ok_or(ControlError::NotFound { noun: Noun::Snapshot, name })?;
        Ok(Reply::Snapshot { view: Box::new(view), created })
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
