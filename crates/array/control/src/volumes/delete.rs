//! `volume delete`: deletes an unused volume, optionally with its snapshots.

use crate::condition::{Noun, User, UserKind};
use crate::control::Control;
use crate::directory::Edit;
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::Change;
use crate::record::Document;
use crate::request::Request;
use crate::snapshots::record::SnapshotRecord;
use crate::volumes::error::VolumeError;
use pool::CatalogChange;

/// Deletes an unused volume. The reply is its name.
#[derive(Clone, Debug, Default)]
pub struct VolumeDelete {
    /// Name or id.
    pub volume: String,
    /// True to delete its snapshots too; otherwise a volume with snapshots is refused.
    pub with_snapshots: bool,
}

impl Request for VolumeDelete {
    type Reply = String;
    const NAME: &'static str = "volume-delete";

    async fn run(&self, control: &Control) -> Result<String, ControlError> {
        let _changes = control.lock_changes().await;
        let record = control.directory().volume(&self.volume)?.clone();
        let users = control.volume_users(&record);
        if !users.is_empty() {
            return Err(ControlError::InUse { noun: Noun::Volume, name: record.name, users });
        }
        let snapshots: Vec<SnapshotRecord> = control.directory().snapshots_of(record.id).cloned().collect();
        if !snapshots.is_empty() && !self.with_snapshots {
            let user = |snapshot: &SnapshotRecord| User {
                kind: UserKind::Snapshot,
                description: format!("{} of {:.0}", snapshot.name, snapshot.created),
            };
            return Err(
                VolumeError::HasSnapshots { name: record.name, users: snapshots.iter().map(user).collect() }.into()
            );
        }
        let mut changes = vec![CatalogChange::DeleteObject { id: record.object }, record.delete()];
        changes.extend(control.without_reservations(record.id));
        changes.extend(control.without_sanitize_operation(record.id));
        for snapshot in &snapshots {
            changes.extend([CatalogChange::DeleteObject { id: snapshot.object }, snapshot.delete()]);
        }
        let mut edits: Vec<Edit> = snapshots.iter().map(|snapshot| Edit::Snapshot(snapshot.id, None)).collect();
        edits.push(Edit::Volume(record.id, None));
        control.commit(changes, edits, &[Change::VolumeRemoved { object: record.object }]).await?;
        Ok(record.name)
    }

    fn event(&self, name: &String) -> Option<Draft> {
        let snapshots = if self.with_snapshots { " with its snapshots" } else { "" };
        Some(Draft::info("volume-deleted", name, format!("volume {name} deleted{snapshots}")))
    }
}
