//! `share delete`: deletes a share that no host may use.

use crate::condition::{Noun, User, UserKind};
use crate::control::Control;
use crate::directory::Edit;
use crate::error::ControlError;
use crate::events::Draft;
use crate::exports::record::ExportRecord;
use crate::live::Change;
use crate::record::Document;
use crate::request::Request;
use crate::shares::error::ShareError;
use crate::snapshots::record::SnapshotRecord;
use pool::CatalogChange;

/// Deletes a share without export rules. The reply is its name.
#[derive(Clone, Debug, Default)]
pub struct ShareDelete {
    /// Name or id.
    pub share: String,
    /// True to delete its snapshots too; otherwise a share with snapshots is refused.
    pub with_snapshots: bool,
}

impl Request for ShareDelete {
    type Reply = String;
    const NAME: &'static str = "share-delete";

    async fn run(&self, control: &Control) -> Result<String, ControlError> {
        let _changes = control.lock_changes().await;
        let record = control.directory().share(&self.share)?.clone();
        let users: Vec<User> = {
            let directory = control.directory();
            let exports = directory.exports_by_share(record.id);
            let user = |export: &ExportRecord| User {
                kind: UserKind::Access,
                description: directory.export_grantee(export.to).to_string(),
            };
            exports.map(user).collect()
        };
        if !users.is_empty() {
            return Err(ControlError::InUse { noun: Noun::Share, name: record.name, users });
        }
        let snapshots: Vec<SnapshotRecord> = control.directory().snapshots_of(record.id).cloned().collect();
        if !snapshots.is_empty() && !self.with_snapshots {
            let user = |snapshot: &SnapshotRecord| User {
                kind: UserKind::Snapshot,
                description: format!("{} of {:.0}", snapshot.name, snapshot.created),
            };
            let users = snapshots.iter().map(user).collect();
            return Err(ShareError::HasSnapshots { name: record.name, users }.into());
        }
        let mut changes = vec![CatalogChange::DeleteObject { id: record.object }, record.delete()];
        for snapshot in &snapshots {
            changes.extend([CatalogChange::DeleteObject { id: snapshot.object }, snapshot.delete()]);
        }
        let mut edits: Vec<Edit> = snapshots.iter().map(|snapshot| Edit::Snapshot(snapshot.id, None)).collect();
        edits.push(Edit::Share(record.id, None));
        control.commit(changes, edits, &[Change::ShareRemoved { object: record.object }]).await?;
        Ok(record.name)
    }

    fn event(&self, name: &String) -> Option<Draft> {
        let snapshots = if self.with_snapshots { " with its snapshots" } else { "" };
        Some(Draft::info("share-deleted", name, format!("share {name} deleted{snapshots}")))
    }
}
