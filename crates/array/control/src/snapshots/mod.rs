//! Snapshots of volumes and shares: show, delete. `list.rs` lists them, `create.rs` takes them, of one or of several
//! at one instant.

mod create;
pub(crate) mod error;
mod list;
mod lock;
mod locked_objects;
pub(crate) mod record;
mod tree;

pub use create::{SnapshotCreate, SnapshotGroup};
pub use error::SnapshotError;
pub use list::SnapshotList;
pub use lock::{SnapshotLock, SnapshotPin};
pub use record::SnapshotRecord;
pub use tree::{SnapshotTree, TreeView};

use crate::condition::Noun;
use crate::control::Control;
use crate::difference::Difference;
use crate::effect::{Rehearsal, Rehearsed};
use crate::environment::new_id;
use crate::error::ControlError;
use crate::events::Draft;
use crate::facts::Facts;
use crate::live::Change;
use crate::pools::state::Warning;
use crate::read::Read;
use crate::record::Document;
use crate::request::Request;
use crate::trash::Deleted;
use crate::trash::discard::Discard;
use crate::trash::record::Trashed;
use crate::volumes::record::SourceRecord;
use pool::{CatalogChange, ObjectId, ObjectInfo, ObjectKind};
use uuid::Uuid;

/// Largest number of snapshots of a pool, those in the trash too.
const MAX_SNAPSHOTS: usize = 65_536;

/// Shows one snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotShow {
    /// `volume@name`, `share@name`, id, or a name that is unique among all snapshots.
    pub snapshot: String,
}

/// Deletes a snapshot.
#[derive(Clone, Debug, Default)]
pub struct SnapshotDelete {
    /// As in [`SnapshotShow`].
    pub snapshot: String,
    /// True to delete it for good, instead of to the trash.
    pub now: bool,
}

/// Snapshot with its space.
#[derive(Clone, Debug)]
pub struct SnapshotView {
    /// Document of the snapshot.
    pub record: SnapshotRecord,
    /// Object of the snapshot.
    pub object: ObjectInfo,
    /// Bytes that deleting it would free; absent during the first count.
    pub unique_bytes: Option<u64>,
    /// Name of the volume or share.
    pub volume: String,
    /// True for the snapshot of a share.
    pub of_share: bool,
    /// Volumes or shares cloned from it.
    pub dependents: Vec<String>,
    /// Schedule that took it, by name; absent if it is deleted.
    pub schedule: Option<String>,
}

impl Read for SnapshotShow {
    type Reply = SnapshotView;
    const NAME: &'static str = "snapshot-show";
    const FRESH_COUNTS: bool = true;

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        facts.directory().snapshot(&self.snapshot).into_iter().map(|snapshot| vec![snapshot.object]).collect()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<SnapshotView, ControlError> {
        let record = facts.directory().snapshot(&self.snapshot)?;
        let gone = || ControlError::NotFound { noun: Noun::Snapshot, name: record.name.clone() };
        facts.snapshot_view(record.clone()).ok_or_else(gone)
    }
}

impl Request for SnapshotDelete {
    type Reply = Deleted;
    const NAME: &'static str = "snapshot-delete";

    async fn run(&self, control: &Control) -> Result<Deleted, ControlError> {
        let _changes = control.lock_changes().await;
        let discard = self.plan(control)?;
        control.discard(discard).await
    }

    fn event(&self, deleted: &Deleted) -> Option<Draft> {
        let (name, whereabouts) = (&deleted.name, deleted.whereabouts());
        Some(Draft::info("snapshot-deleted", name, format!("snapshot {name} deleted{whereabouts}")))
    }
}

impl Rehearsed for SnapshotDelete {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        control.rehearse_discard(&self.plan(control)?)
    }
}

impl SnapshotDelete {
    /// Checks the deletion, and plans it.
    fn plan(&self, control: &Control) -> Result<Discard, ControlError> {
        let record = control.directory().snapshot(&self.snapshot)?.clone();
        control.check_unlocked(&record)?;
        let published = control.snapshots_changed(record.volume).into_iter().collect();
        let what = Trashed::Snapshot(record);
        let (snapshots, grants, changes) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Discard { what, snapshots, grants, changes, published, now: self.now })
    }
}

impl Control {
    /// Checks that the pool can have so many snapshots more. Errors: `InvalidSetting`.
    pub(crate) fn check_snapshot_room(&self, more: usize) -> Result<(), ControlError> {
        let directory = self.directory();
        let present = directory.snapshot_count().saturating_add(directory.trashed_snapshot_count());
        if present.saturating_add(more) > MAX_SNAPSHOTS {
            let reason =
                format!("the pool has {present} snapshots with those in the trash, of {MAX_SNAPSHOTS} possible");
            return Err(ControlError::InvalidSetting(reason));
        }
        Ok(())
    }

    /// Document of a new snapshot of an object, which is that of a volume or share, and the changes that take it.
    /// Errors: `Exists` if it has a snapshot of this name; those of `check_snapshot_room`.
    pub(crate) fn new_snapshot(
        &self,
        source: ObjectId,
        volume: Uuid,
        name: String,
    ) -> Result<(SnapshotRecord, [CatalogChange; 2]), ControlError> {
        let existing = self.directory().snapshot_of(volume, &name).cloned();
        if let Some(existing) = existing {
            return Err(self.taken_before(&existing));
        }
        self.check_snapshot_room(1)?;
        let object = self.catalog().new_object_id();
        let (id, created) = (new_id(&**self.environment()), self.environment().now());
        let record = SnapshotRecord::new(id, object, name, volume, created);
        let clone = CatalogChange::CloneObject { source, id: object, kind: ObjectKind::Snapshot };
        let put = record.put()?;
        Ok((record, [clone, put]))
    }

    /// Change to publish when a share gets or loses a snapshot, which hosts can mount; nothing for a volume.
    pub(crate) fn snapshots_changed(&self, content: Uuid) -> Option<Change> {
        self.directory().share_by_id(content).map(|share| Change::ShareChanged { object: share.object })
    }

    /// Counts one snapshot and returns its view. Errors: `NotFound` if it was deleted meanwhile.
    async fn show_snapshot(&self, record: SnapshotRecord) -> Result<SnapshotView, ControlError> {
        let name = record.name.clone();
        self.count(&[record.object], &mut self.patience()).await;
        let view = self.see(|facts| facts.snapshot_view(record));
        view.ok_or(ControlError::NotFound { noun: Noun::Snapshot, name })
    }

    /// Error for the name of an existing snapshot. A repeated request would capture the content of
    /// another time, so it is not idempotent.
    fn taken_before(&self, existing: &SnapshotRecord) -> ControlError {
        let name = self.directory().full_name(existing);
        ControlError::Exists { noun: Noun::Snapshot, name, difference: Some(Difference::Taken(existing.created)) }
    }
}

/// What becomes of the present content of a volume or share that is rolled back: `kept` is the snapshot that is taken
/// of it first.
pub(crate) fn fate_of_content(source: &str, to: &SnapshotRecord, kept: Option<&SnapshotRecord>) -> Warning {
    match kept {
        Some(kept) => {
            let message = format!("the present content stays in snapshot {source}@{}", kept.name);
            Warning { code: "content-kept", message }
        }
        None => {
            let since = to.created;
            let message = format!("what was written since {since:.0} is lost, unless another snapshot has it");
            Warning { code: "content-lost", message }
        }
    }
}

impl dyn Facts + '_ {
    /// View of a snapshot with its space; absent if it was deleted meanwhile.
    pub(crate) fn snapshot_view(&self, record: SnapshotRecord) -> Option<SnapshotView> {
        let object = self.object(record.object)?;
        let unique_bytes = self.unique_bytes(&[record.object]);
        let directory = self.directory();
        let volume = directory.content_name(record.volume)?.to_owned();
        let of_share = directory.share_by_id(record.volume).is_some();
        let dependents = directory.clone_names(SourceRecord::Snapshot(record.id));
        let schedule = record.schedule.and_then(|id| directory.schedule_by_id(id)).map(|one| one.name.clone());
        Some(SnapshotView { record, object, unique_bytes, volume, of_share, dependents, schedule })
    }
}
