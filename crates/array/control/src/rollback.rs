//! Rollback: a volume takes over the content and size of one of its snapshots.

use crate::environment::new_id;
use crate::names::check_name;
use crate::record::Document;
use crate::{Change, Control, ControlError, Directory, Noun, Reply, SnapshotRecord, UserKind, VolumeRollback};
use pool::{CatalogChange, ObjectKind};

impl Control {
    /// Refused while sessions see the volume, unless forced: what they have cached is not there any more. What is to be kept of the present
    /// state becomes a snapshot in the same commit.
    pub(crate) async fn volume_rollback(&self, rollback: VolumeRollback) -> Result<Reply, ControlError> {
        let _changes = self.lock_changes().await;
        let volume = self.directory().volume(&rollback.volume)?.clone();
        let snapshot = self.snapshot_to_return_to(&volume.id, &volume.name, &rollback.snapshot)?;
        if !rollback.force {
            let mut users = self.volume_users(&volume);
            users.retain(|user| user.kind == UserKind::Session);
            if !users.is_empty() {
                return Err(ControlError::RollbackInUse { name: volume.name, snapshot: snapshot.name, users });
            }
        }
        let present = self.object(volume.object)?;
        let size_bytes = self.object(snapshot.object)?.size_bytes;
        self.check_commitment(size_bytes.saturating_sub(present.size_bytes))?;
        let mut changes = Vec::new();
        let mut kept = None;
        if let Some(name) = rollback.keep {
            check_name(Noun::Snapshot, &name)?;
            let existing = self.directory().snapshot_of(volume.id, &name).cloned();
            if let Some(existing) = existing {
                return Err(self.taken_before(&existing));
            }
            let id = self.catalog.new_object_id();
            let record = SnapshotRecord {
                id: new_id(&*self.environment),
                object: id,
                name,
                volume: volume.id,
                created: self.environment.now(),
                group: None,
            };
            changes.push(CatalogChange::CloneObject { source: volume.object, id, kind: ObjectKind::Snapshot });
            changes.push(record.put()?);
            kept = Some(record);
        }
        changes.push(CatalogChange::Rollback { id: volume.object, source: snapshot.object });
        let apply = |directory: &mut Directory| directory.snapshots.extend(kept.map(|record| (record.id, record)));
        let published = [Change::VolumeRolledBack { object: volume.object, size_bytes }];
        // Steps of a copy that began before would land after it.
        self.live.clear(volume.object).await;
        self.commit(changes, apply, &published).await?;
        self.volume_reply(volume, false).await
    }

    /// One of the volume's own snapshots, by its short name or as everywhere else.
    fn snapshot_to_return_to(
        &self,
        volume: &uuid::Uuid,
        volume_name: &str,
        name: &str,
    ) -> Result<SnapshotRecord, ControlError> {
        let directory = self.directory();
        let own = directory.snapshot_of(*volume, name);
        let named = || match directory.snapshot(name) {
            Ok(snapshot) if snapshot.volume == *volume => Some(snapshot),
            Ok(_) | Err(_) => None,
        };
        own.or_else(named).cloned().ok_or_else(|| {
            let name = if name.contains('@') { name.to_owned() } else { format!("{volume_name}@{name}") };
            ControlError::NotFound { noun: Noun::Snapshot, name }
        })
    }
}
