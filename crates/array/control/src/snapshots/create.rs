//! `snapshot create`: snapshots of one volume or share, or of several at one instant. Existing names are
//! refused.

use super::SnapshotView;
use crate::condition::Noun;
use crate::control::Control;
use crate::directory::Content;
use crate::environment::new_id;
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::Change;
use crate::names::check_name;
use crate::record::Document;
use crate::request::Request;
use crate::snapshots::record::SnapshotRecord;
use pool::{CatalogChange, ObjectKind};

/// Largest number of volumes and shares in a group.
const MAX_GROUP: usize = 256;

/// Takes a snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotCreate {
    /// Name or id of the volume or share.
    pub volume: String,
    /// Name of the snapshot, unique within its source.
    pub name: String,
}

/// Takes snapshots of several volumes and shares at one instant. The reply has them in the requested order.
#[derive(Clone, Debug)]
pub struct SnapshotGroup {
    /// Names or ids of the volumes.
    pub volumes: Vec<String>,
    /// Name of all these snapshots.
    pub name: String,
}

impl Request for SnapshotCreate {
    type Reply = SnapshotView;
    const NAME: &'static str = "snapshot-create";

    async fn run(&self, control: &Control) -> Result<SnapshotView, ControlError> {
        check_name(Noun::Snapshot, &self.name)?;
        let _changes = control.lock_changes().await;
        let source = control.directory().content(&self.volume)?;
        let (record, changes) = control.new_snapshot(source.object, source.id, self.name.clone())?;
        let published = control.snapshots_changed(source.id);
        control.commit(changes.into(), vec![record.clone().into()], published.as_slice()).await?;
        control.show_snapshot(record).await
    }

    fn event(&self, view: &SnapshotView) -> Option<Draft> {
        let (volume, name) = (&view.volume, &self.name);
        Some(Draft::info("snapshot-created", volume, format!("snapshot {volume}@{name} created")))
    }
}

impl Request for SnapshotGroup {
    type Reply = Vec<SnapshotView>;
    const NAME: &'static str = "snapshot-group";

    /// One commit: a write is in no snapshot of the group unless all writes before it are, too.
    async fn run(&self, control: &Control) -> Result<Vec<SnapshotView>, ControlError> {
        check_name(Noun::Snapshot, &self.name)?;
        if !(1..=MAX_GROUP).contains(&self.volumes.len()) {
            return Err(ControlError::InvalidSetting(format!("a group has 1 to {MAX_GROUP} volumes")));
        }
        let _changes = control.lock_changes().await;
        let mut members: Vec<Content> = Vec::with_capacity(self.volumes.len());
        for volume in &self.volumes {
            let volume = control.directory().content(volume)?;
            if members.iter().all(|member| member.id != volume.id) {
                members.push(volume);
            }
        }
        let existing = {
            let directory = control.directory();
            members.iter().find_map(|volume| directory.snapshot_of(volume.id, &self.name)).cloned()
        };
        if let Some(existing) = existing {
            return Err(control.taken_before(&existing));
        }
        control.check_snapshot_room(members.len())?;
        let (group, created) = (Some(new_id(&**control.environment())), control.environment().now());
        let mut changes = Vec::with_capacity(members.len() * 2);
        let mut records = Vec::with_capacity(members.len());
        for volume in members {
            let object = control.catalog().new_object_id();
            let id = new_id(&**control.environment());
            let record =
                SnapshotRecord { group, ..SnapshotRecord::new(id, object, self.name.clone(), volume.id, created) };
            changes.push(CatalogChange::CloneObject { source: volume.object, id: object, kind: ObjectKind::Snapshot });
            changes.push(record.put()?);
            records.push(record);
        }
        let edits = records.iter().cloned().map(SnapshotRecord::into).collect();
        let published: Vec<Change> =
            records.iter().filter_map(|record| control.snapshots_changed(record.volume)).collect();
        control.commit(changes, edits, &published).await?;
        let mut patience = control.patience();
        for record in &records {
            control.count(&[record.object], &mut patience).await;
        }
        Ok(control.see(|facts| records.into_iter().filter_map(|record| facts.snapshot_view(record)).collect()))
    }

    fn event(&self, views: &Vec<SnapshotView>) -> Option<Draft> {
        let volumes: Vec<&str> = views.iter().map(|view| view.volume.as_str()).collect();
        let message = format!("snapshots {} of {} created at one instant", self.name, volumes.join(", "));
        Some(Draft::info("snapshot-created", &self.name, message))
    }
}
