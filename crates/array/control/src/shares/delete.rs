//! `share delete`: deletes a share that no host may use.

use crate::condition::{Noun, User, UserKind};
use crate::control::Control;
use crate::effect::{Rehearsal, Rehearsed};
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::Change;
use crate::request::Request;
use crate::shares::error::ShareError;
use crate::snapshots::record::SnapshotRecord;
use crate::trash::Deleted;
use crate::trash::discard::Discard;
use crate::trash::record::Trashed;

/// Deletes a share without export rules.
#[derive(Clone, Debug, Default)]
pub struct ShareDelete {
    /// Name or id.
    pub share: String,
    /// True to delete its snapshots too; otherwise a share with snapshots is refused.
    pub with_snapshots: bool,
    /// True to delete it for good, instead of to the trash.
    pub now: bool,
}

impl Request for ShareDelete {
    type Reply = Deleted;
    const NAME: &'static str = "share-delete";

    async fn run(&self, control: &Control) -> Result<Deleted, ControlError> {
        let _changes = control.lock_changes().await;
        let discard = self.plan(control)?;
        control.discard(discard).await
    }

    fn event(&self, deleted: &Deleted) -> Option<Draft> {
        let snapshots = if self.with_snapshots { " with its snapshots" } else { "" };
        let (name, whereabouts) = (&deleted.name, deleted.whereabouts());
        Some(Draft::info("share-deleted", name, format!("share {name} deleted{snapshots}{whereabouts}")))
    }
}

impl Rehearsed for ShareDelete {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        control.rehearse_discard(&self.plan(control)?)
    }
}

impl ShareDelete {
    /// Checks the deletion, and plans it.
    fn plan(&self, control: &Control) -> Result<Discard, ControlError> {
        let record = control.directory().share(&self.share)?.clone();
        let users = control.export_users(record.id);
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
        let published = vec![Change::ShareRemoved { object: record.object }];
        let what = Trashed::Share(record);
        let (grants, changes) = (Vec::new(), Vec::new());
        Ok(Discard { what, snapshots, grants, changes, published, now: self.now })
    }
}
