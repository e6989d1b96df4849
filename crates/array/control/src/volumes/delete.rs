//! `volume delete`: deletes an unused volume, optionally with its snapshots.

use crate::condition::{Noun, User, UserKind};
use crate::control::Control;
use crate::effect::{BrokenKind, Rehearsal, Rehearsed};
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::Change;
use crate::request::Request;
use crate::snapshots::record::SnapshotRecord;
use crate::trash::Deleted;
use crate::trash::discard::Discard;
use crate::trash::record::Trashed;
use crate::volumes::error::VolumeError;

/// Deletes an unused volume.
#[derive(Clone, Debug, Default)]
pub struct VolumeDelete {
    /// Name or id.
    pub volume: String,
    /// True to delete its snapshots too; otherwise a volume with snapshots is refused.
    pub with_snapshots: bool,
    /// True to revoke its grants; otherwise a volume with grants is refused.
    pub revoke: bool,
    /// True to delete it for good, instead of to the trash.
    pub now: bool,
}

impl Request for VolumeDelete {
    type Reply = Deleted;
    const NAME: &'static str = "volume-delete";

    async fn run(&self, control: &Control) -> Result<Deleted, ControlError> {
        let _changes = control.lock_changes().await;
        let discard = self.plan(control)?;
        control.discard(discard).await
    }

    fn event(&self, deleted: &Deleted) -> Option<Draft> {
        let snapshots = if self.with_snapshots { " with its snapshots" } else { "" };
        let (name, whereabouts) = (&deleted.name, deleted.whereabouts());
        Some(Draft::info("volume-deleted", name, format!("volume {name} deleted{snapshots}{whereabouts}")))
    }
}

impl Rehearsed for VolumeDelete {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let discard = self.plan(control)?;
        let Trashed::Volume(record) = &discard.what else { return Ok(Rehearsal::default()) };
        let users = control.volume_users(record);
        let sanitized = control.without_sanitize_operation(record.id).is_some();
        let mut rehearsal = control.rehearse_discard(&discard)?.breaks_users(users, "it loses the volume");
        if sanitized {
            let why = "it ends: the volume is deleted for good instead";
            rehearsal = rehearsal.breaks(BrokenKind::Job, format!("sanitize operation of volume {}", record.name), why);
        }
        Ok(rehearsal)
    }
}

impl VolumeDelete {
    /// Checks the deletion, and plans it.
    ///
    /// A volume that is being sanitized is deleted for good: its content was to be destroyed. That of its
    /// snapshots was not.
    fn plan(&self, control: &Control) -> Result<Discard, ControlError> {
        let record = control.directory().volume(&self.volume)?.clone();
        let users = control.volume_users(&record);
        if !users.is_empty() && !self.revoke {
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
        let grants = control.directory().access_of(record.id).cloned().collect();
        let sanitize = control.without_sanitize_operation(record.id);
        let now = self.now || sanitize.is_some();
        if now && !self.now && control.pool().trash_age().is_positive() {
            let snapshots = snapshots.len() + control.directory().trash_of(record.id).count();
            if snapshots > 0 {
                return Err(VolumeError::SanitizedWithSnapshots { name: record.name, snapshots }.into());
            }
        }
        let changes = control.without_reservations(record.id).into_iter().chain(sanitize).collect();
        let published = vec![Change::VolumeRemoved { object: record.object }];
        let what = Trashed::Volume(record);
        Ok(Discard { what, snapshots, grants, changes, published, now })
    }
}
