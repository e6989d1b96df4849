//! `volume rollback`: a volume takes over the content and size of one of its snapshots.

use crate::condition::{Noun, User, UserKind};
use crate::control::Control;
use crate::directory::Directory;
use crate::effect::{Rehearsal, Rehearsed};
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::Change;
use crate::names::check_name;
use crate::pools::state::Warning;
use crate::request::Request;
use crate::snapshots::fate_of_content;
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

    async fn run(&self, control: &Control) -> Result<VolumeView, ControlError> {
        let _changes = control.lock_changes().await;
        control.check_expectation()?;
        let Plan { volume, snapshot, kept, before_bytes, size_bytes } = self.plan(control)?;
        let (kept, mut changes) = kept.map_or((None, Vec::new()), |(record, taken)| (Some(record), taken.into()));
        changes.push(CatalogChange::Rollback { id: volume.object, source: snapshot.object });
        let edits = kept.into_iter().map(SnapshotRecord::into).chain([volume.clone().into()]).collect();
        let published = [Change::VolumeRolledBack { object: volume.object, size_bytes }];
        // Steps of an earlier copy must not write after the rollback.
        control.live().clear(volume.object).await;
        control.commit(changes, edits, &published).await?;
        let mut view = control.show_volume(volume).await?;
        view.warnings.extend(size_warning(&view.record.name, before_bytes, size_bytes, &snapshot.name));
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

/// A roll-back that is possible.
struct Plan {
    volume: VolumeRecord,
    snapshot: SnapshotRecord,
    /// Snapshot of the present content, and the changes that take it.
    kept: Option<(SnapshotRecord, [CatalogChange; 2])>,
    before_bytes: u64,
    size_bytes: u64,
}

impl VolumeRollback {
    /// Checks the roll-back, and plans it.
    ///
    /// Refused while sessions see the volume, unless forced: host caches hold the old content. The
    /// snapshot of the present content is taken in the same commit.
    fn plan(&self, control: &Control) -> Result<Plan, ControlError> {
        let volume = control.directory().volume(&self.volume)?.clone();
        let snapshot = find_snapshot(&control.directory(), &volume, &self.snapshot)?;
        if !self.force {
            let users = sessions(control, &volume);
            if !users.is_empty() {
                return Err(VolumeError::RollbackInUse { name: volume.name, snapshot: snapshot.name, users }.into());
            }
        }
        let before_bytes = control.object(volume.object)?.size_bytes;
        let size_bytes = control.object(snapshot.object)?.size_bytes;
        control.check_commitment(size_bytes.saturating_sub(before_bytes))?;
        let mut kept = None;
        if let Some(name) = self.keep.clone() {
            check_name(Noun::Snapshot, &name)?;
            kept = Some(control.new_snapshot(volume.object, volume.id, name)?);
        }
        Ok(Plan { volume, snapshot, kept, before_bytes, size_bytes })
    }
}

impl Rehearsed for VolumeRollback {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let Plan { volume, snapshot, kept, before_bytes, size_bytes } = self.plan(control)?;
        let users = sessions(control, &volume);
        let rehearsal = Rehearsal::default()
            .frees(kept.is_none().then_some(volume.object))
            .breaks_users(users, "its host has the old content in its cache: data may be damaged")
            .warns_all(size_warning(&volume.name, before_bytes, size_bytes, &snapshot.name));
        let kept = kept.as_ref().map(|(record, _)| record);
        Ok(rehearsal.warns_all([fate_of_content(&volume.name, &snapshot, kept)]))
    }
}

/// Sessions that see a volume.
fn sessions(control: &Control, volume: &VolumeRecord) -> Vec<User> {
    let mut users = control.volume_users(volume);
    users.retain(|user| user.kind == UserKind::Session);
    users
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
