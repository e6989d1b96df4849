//! `volume rollback`: a volume takes over the content and size of one of its snapshots.

use crate::condition::{Noun, UserKind};
use crate::control::Control;
use crate::directory::Directory;
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::Change;
use crate::names::check_name;
use crate::pools::state::Warning;
use crate::request::Request;
use crate::snapshots::record::SnapshotRecord;
use crate::volumes::VolumeView;
use crate::volumes::error::VolumeError;
use crate::volumes::record::VolumeRecord;
use pool::CatalogChange;
use std::cmp::Ordering;

/// Rolls a volume back to a snapshot.
#[derive(Clone, Debug, Default)]
pub struct VolumeRollback {
    /// Name or id of the volume.
    pub volume: String,
    /// Name of one of its snapshots, or as in `SnapshotShow`.
    pub snapshot: String,
    /// True to proceed even if sessions see the volume.
    pub force: bool,
    /// Name of a snapshot to take of the present content.
    pub keep: Option<String>,
}

impl Request for VolumeRollback {
    type Reply = VolumeView;
    const NAME: &'static str = "volume-rollback";

    /// Refused while sessions see the volume, unless forced: host caches hold the old content. The
    /// snapshot of the present content is taken in the same commit.
    async fn run(&self, control: &Control) -> Result<VolumeView, ControlError> {
        let _changes = control.lock_changes().await;
        control.check_expectation()?;
        let volume = control.directory().volume(&self.volume)?.clone();
        let snapshot = find_snapshot(&control.directory(), &volume, &self.snapshot)?;
        if !self.force {
            let mut users = control.volume_users(&volume);
            users.retain(|user| user.kind == UserKind::Session);
            if !users.is_empty() {
                return Err(VolumeError::RollbackInUse { name: volume.name, snapshot: snapshot.name, users }.into());
            }
        }
        let present = control.object(volume.object)?;
        let size_bytes = control.object(snapshot.object)?.size_bytes;
        control.check_commitment(size_bytes.saturating_sub(present.size_bytes))?;
        let mut changes = Vec::new();
        let mut kept = None;
        if let Some(name) = self.keep.clone() {
            check_name(Noun::Snapshot, &name)?;
            let (record, taken) = control.new_snapshot(volume.object, volume.id, name)?;
            changes.extend(taken);
            kept = Some(record);
        }
        changes.push(CatalogChange::Rollback { id: volume.object, source: snapshot.object });
        let edits = kept.into_iter().map(SnapshotRecord::into).chain([volume.clone().into()]).collect();
        let published = [Change::VolumeRolledBack { object: volume.object, size_bytes }];
        // Steps of an earlier copy must not write after the rollback.
        control.live().clear(volume.object).await;
        control.commit(changes, edits, &published).await?;
        let mut view = control.show_volume(volume).await?;
        view.warnings.extend(size_warning(&view.record.name, present.size_bytes, size_bytes, &snapshot.name));
        Ok(view)
    }

    fn event(&self, view: &VolumeView) -> Option<Draft> {
        let name = &view.record.name;
        let kept = self.keep.as_ref().map(|kept| format!("; its content before is in snapshot {kept}"));
        let mut message =
            format!("volume {name} rolled back to snapshot {}{}", self.snapshot, kept.unwrap_or_default());
        view.warnings.iter().for_each(|warning| message += &format!("; {}", warning.message));
        Some(Draft::info("volume-rolled-back", name, message))
    }
}

/// Warning about a size that the roll-back changes: hosts may have used the space that is gone.
fn size_warning(volume: &str, before_bytes: u64, after_bytes: u64, snapshot: &str) -> Option<Warning> {
    let verb = match after_bytes.cmp(&before_bytes) {
        Ordering::Equal => return None,
        Ordering::Less => "shrank",
        Ordering::Greater => "grew",
    };
    let (before, after) = (text::size::exact(before_bytes), text::size::exact(after_bytes));
    let message = format!("volume {volume} {verb} from {before} to {after}, its size in snapshot {snapshot}");
    Some(Warning { code: "size-changed", message })
}

/// Finds a snapshot of the volume by its short name, its full name or its id.
fn find_snapshot(directory: &Directory, volume: &VolumeRecord, name: &str) -> Result<SnapshotRecord, ControlError> {
    let own = directory.snapshot_of(volume.id, name);
    let named = || directory.snapshot(name).ok().filter(|snapshot| snapshot.volume == volume.id);
    own.or_else(named).cloned().ok_or_else(|| {
        let name = if name.contains('@') { name.to_owned() } else { format!("{}@{name}", volume.name) };
        ControlError::NotFound { noun: Noun::Snapshot, name }
    })
}
