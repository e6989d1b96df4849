//! `volume restore`, `trash restore`: an object in the trash returns, with its id, content and
//! snapshots, and, if wanted, with its grants.

use super::error::TrashError;
use super::record::{TrashRecord, Trashed};
use crate::access::record::AccessRecord;
use crate::access::{granted, granted_again};
use crate::condition::Noun;
use crate::control::Control;
use crate::directory::{Directory, Edit};
use crate::error::ControlError;
use crate::events::Draft;
use crate::live::Change;
use crate::names::check_name;
use crate::pools::state::Warning;
use crate::record::Document;
use crate::request::Request;
use crate::schedules::record::ScheduleRecord;
use crate::snapshots::record::SnapshotRecord;
use pool::CatalogChange;
use std::collections::BTreeSet;
use uuid::Uuid;

/// Restores an object from the trash.
#[derive(Clone, Debug, Default)]
pub struct TrashRestore {
    /// Full name or id.
    pub item: String,
    /// Only an object of this kind.
    pub noun: Option<Noun>,
    /// New name; absent: the one that it had.
    pub name: Option<String>,
    /// True to grant a volume to those who had it.
    pub grants: bool,
}

/// Reply to [`TrashRestore`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Kind of the object.
    pub noun: Noun,
    /// Id.
    pub id: Uuid,
    /// Present full name.
    pub name: String,
    /// Number of snapshots that returned with it.
    pub snapshots: usize,
    /// Number of grants that it has again.
    pub grants: usize,
    /// Grants that could not be made again.
    pub warnings: Vec<Warning>,
}

impl Request for TrashRestore {
    type Reply = Restored;
    const NAME: &'static str = "trash-restore";

    async fn run(&self, control: &Control) -> Result<Restored, ControlError> {
        let _changes = control.lock_changes().await;
        let item = control.directory().trash_item(&self.item, self.noun)?.clone();
        let with: Vec<TrashRecord> = control.directory().trash_with(item.what.id()).cloned().collect();
        let what = self.renamed(&control.directory(), item.what.clone())?;
        let (noun, id, object) = (what.noun(), what.id(), what.object());
        let name = control.directory().trash_name(&what);
        let bytes = control.size_of_volume(object);
        control.check_commitment(bytes)?;
        let (grants, warnings) = match (&what, self.grants) {
            (Trashed::Volume(volume), true) => granted_again(&control.directory(), volume, &item.grants),
            _ => (Vec::new(), Vec::new()),
        };
        let published = published(&control.directory(), &what, &grants);
        let restored = with.iter().chain([&item]).filter_map(TrashRecord::snapshot);
        let schedules = schedules_of(&control.directory(), restored);
        let mut changes = vec![item.delete(), put(&what)?];
        let mut edits = vec![Edit::Trash(id, None), back(what)];
        for snapshot in &with {
            changes.extend([snapshot.delete(), put(&snapshot.what)?]);
            edits.extend([Edit::Trash(snapshot.what.id(), None), back(snapshot.what.clone())]);
        }
        for access in &grants {
            changes.push(access.put()?);
            edits.push(access.clone().into());
        }
        for schedule in schedules {
            changes.push(schedule.put()?);
            edits.push(schedule.into());
        }
        control.store(changes).await?;
        control.pool().volumes_resized(0, bytes);
        control.apply(edits);
        control.publish(&published).await;
        Ok(Restored { noun, id, name, snapshots: with.len(), grants: grants.len(), warnings })
    }

    fn event(&self, restored: &Restored) -> Option<Draft> {
        let Restored { noun, name, warnings, .. } = restored;
        let mut message = format!("{noun} {name} restored from the trash");
        warnings.iter().for_each(|warning| message += &format!("; {}", warning.message));
        Some(Draft::info("trash-restored", name, message))
    }
}

impl TrashRestore {
    /// The object with its new name, which must be free.
    fn renamed(&self, directory: &Directory, mut what: Trashed) -> Result<Trashed, ControlError> {
        let name = self.name.clone().unwrap_or_else(|| what.name().to_owned());
        if self.name.is_some() {
            check_name(what.noun(), &name)?;
        }
        match &mut what {
            Trashed::Volume(volume) => {
                directory.check_name_free(&name)?;
                volume.name = name;
                volume.policy = volume.policy.filter(|policy| directory.policy_by_id(*policy).is_some());
            }
            Trashed::Share(share) => {
                directory.check_name_free(&name)?;
                share.name = name;
            }
            Trashed::Snapshot(snapshot) => {
                if directory.content_name(snapshot.volume).is_none() {
                    let name = directory.trash_name(&Trashed::Snapshot(snapshot.clone()));
                    return Err(TrashError::SourceMissing { name }.into());
                }
                snapshot.name = name;
                if directory.snapshot_of(snapshot.volume, &snapshot.name).is_some() {
                    let name = directory.full_name(snapshot);
                    return Err(ControlError::Exists { noun: Noun::Snapshot, name, difference: None });
                }
            }
        }
        Ok(what)
    }
}

/// Schedules that took these snapshots. What they remove next goes to the trash, as after a change of their rules: what
/// is restored is not deleted for good by a schedule.
fn schedules_of<'a>(directory: &Directory, restored: impl Iterator<Item = &'a SnapshotRecord>) -> Vec<ScheduleRecord> {
    let ids: BTreeSet<Uuid> = restored.filter_map(|snapshot| snapshot.schedule).collect();
    let schedules = ids.into_iter().filter_map(|id| directory.schedule_by_id(id));
    schedules.map(|schedule| ScheduleRecord { rules_changed: true, ..schedule.clone() }).collect()
}

/// Change that stores the object's own document.
fn put(what: &Trashed) -> Result<CatalogChange, ControlError> {
    match what {
        Trashed::Volume(volume) => volume.put(),
        Trashed::Share(share) => share.put(),
        Trashed::Snapshot(snapshot) => snapshot.put(),
    }
}

/// Edit that adds the object to its own table.
fn back(what: Trashed) -> Edit {
    match what {
        Trashed::Volume(volume) => volume.into(),
        Trashed::Share(share) => share.into(),
        Trashed::Snapshot(snapshot) => snapshot.into(),
    }
}

/// Changes to publish.
fn published(directory: &Directory, what: &Trashed, grants: &[AccessRecord]) -> Vec<Change> {
    let object = what.object();
    let own = match what {
        Trashed::Volume(_) => Some(Change::VolumeAdded { object }),
        Trashed::Share(_) => Some(Change::ShareAdded { object }),
        Trashed::Snapshot(snapshot) => {
            directory.share_by_id(snapshot.volume).map(|share| Change::ShareChanged { object: share.object })
        }
    };
    own.into_iter().chain(grants.iter().map(|access| granted(object, access))).collect()
}
