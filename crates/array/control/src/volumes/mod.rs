//! Volumes: show. Each other verb has its own file.

mod create;
mod delete;
pub(crate) mod error;
mod list;
pub(crate) mod record;
mod rollback;
mod set;
mod space;

pub use create::{Reserve, VolumeCreate};
pub use delete::VolumeDelete;
pub use error::VolumeError;
pub use list::{VolumeHas, VolumeList};
pub use record::{SourceRecord, VolumeRecord};
pub use rollback::VolumeRollback;
pub use set::VolumeSet;
pub use space::{KeptBy, SpaceView, UnmapReport, VolumeSpace};

use crate::access::access_user;
use crate::access::record::AccessRecord;
use crate::condition::{Noun, User};
use crate::control::Control;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::names::check_label;
use crate::pools::state::Warning;
use crate::qos::Limited;
use crate::read::Read;
pub use pool::MAX_VOLUME_BYTES;
use pool::{ObjectId, ObjectInfo, Reservation};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Shows one volume.
#[derive(Clone, Debug)]
pub struct VolumeShow {
    /// Name or id.
    pub volume: String,
}

/// Volume with its space and access.
#[derive(Clone, Debug)]
pub struct VolumeView {
    /// Document of the volume.
    pub record: VolumeRecord,
    /// Name of its pool.
    pub pool: String,
    /// Object of the volume.
    pub object: ObjectInfo,
    /// Bytes that deleting it would free; absent during the first count.
    pub unique_bytes: Option<u64>,
    /// Bytes that deleting all its snapshots together would free; absent during the first count.
    pub snapshot_bytes: Option<u64>,
    /// Number of its snapshots.
    pub snapshots: u64,
    /// Source of a clone.
    pub source: Option<SourceView>,
    /// Grants by host name, `any` first.
    pub luns: Vec<LunView>,
    /// Its QoS policy.
    pub limited: Option<Limited>,
    /// Warnings about the consequences of the request that this view answers.
    pub warnings: Vec<Warning>,
}

/// Source of a clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceView {
    /// True for a snapshot, false for a volume.
    pub snapshot: bool,
    /// Id.
    pub id: Uuid,
    /// Present name; absent once deleted.
    pub name: Option<String>,
}

/// Logical unit of a volume. In a volume's view, `name` is the grantee's
/// ([`Grantee::word`](crate::Grantee::word)); in a host's or group's view, the volume's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LunView {
    /// Grantee or volume.
    pub name: Option<String>,
    /// Logical unit number.
    pub lun: u16,
    /// URL at the first portal.
    pub iscsi_url: String,
}

impl Read for VolumeShow {
    type Reply = VolumeView;
    const NAME: &'static str = "volume-show";
    const FRESH_COUNTS: bool = true;

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        let volume = facts.directory().volume(&self.volume);
        volume.map(|volume| facts.counted_of(volume.object, volume.id).collect()).unwrap_or_default()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<VolumeView, ControlError> {
        let record = facts.directory().volume(&self.volume)?;
        let gone = || ControlError::NotFound { noun: Noun::Volume, name: record.name.clone() };
        facts.volume_view(record.clone()).ok_or_else(gone)
    }
}

impl Control {
    /// Counts one volume and returns its view. Errors: `NotFound` if it was deleted meanwhile.
    pub(crate) async fn show_volume(&self, record: VolumeRecord) -> Result<VolumeView, ControlError> {
        let name = record.name.clone();
        self.count_content(record.object, record.id, &mut self.patience()).await;
        let view = self.see(|facts| facts.volume_view(record));
        view.ok_or(ControlError::NotFound { noun: Noun::Volume, name })
    }

    /// Users of a volume: its grants, and the sessions that see it through them.
    pub(crate) fn volume_users(&self, record: &VolumeRecord) -> Vec<User> {
        let directory = self.directory();
        let granted = directory.access_of(record.id);
        let mut users: Vec<User> = granted.map(|access| access_user(&directory, access)).collect();
        let grants = directory.grants_of(record.object);
        let sees =
            |initiator: &str| grants.contains_key(&None) || grants.contains_key(&Some(initiator.to_ascii_lowercase()));
        let sessions = self.live().sessions();
        users.extend(
            sessions.iter().filter(|session| sees(&session.initiator)).map(|session| self.session_user(session)),
        );
        users
    }
}

impl dyn Facts + '_ {
    /// Logical unit of a grant, with the name of the volume or grantee at its other end.
    fn lun_view(&self, access: &AccessRecord, name: Option<String>) -> LunView {
        LunView { name, lun: access.lun, iscsi_url: self.iscsi_url(access.lun) }
    }

    /// Logical units of a host or host group, with the names of their volumes.
    pub(crate) fn granted_luns<'a>(&self, grants: impl Iterator<Item = &'a AccessRecord>) -> Vec<LunView> {
        let volume = |id| self.directory().volume_by_id(id).map(|volume| volume.name.clone());
        let mut luns: Vec<LunView> = grants.map(|access| self.lun_view(access, volume(access.volume))).collect();
        luns.sort_by_key(|unit| unit.lun);
        luns
    }

    /// View of a volume with its space and access; absent if it was deleted meanwhile.
    pub(crate) fn volume_view(&self, record: VolumeRecord) -> Option<VolumeView> {
        let object = self.object(record.object)?;
        let unique_bytes = self.unique_bytes(&[record.object]);
        let snapshot_bytes = self.snapshot_bytes(record.id);
        let directory = self.directory();
        let source = record.source.map(|source| {
            let (snapshot, id) = match source {
                SourceRecord::Volume(id) | SourceRecord::Share(id) => (false, id),
                SourceRecord::Snapshot(id) => (true, id),
            };
            SourceView { snapshot, id, name: directory.source_name(source) }
        });
        let mut luns: Vec<LunView> = directory
            .access_of(record.id)
            .map(|access| self.lun_view(access, Some(directory.grantee(access.to()).word())))
            .collect();
        luns.sort_by(|one, other| one.name.cmp(&other.name).then(one.lun.cmp(&other.lun)));
        let snapshots = directory.snapshots_of(record.id).count();
        let snapshots = u64::try_from(snapshots).unwrap_or(u64::MAX);
        let (pool, warnings) = (self.pool_name().to_owned(), Vec::new());
        let limited = self.limited_volume(&record);
        Some(VolumeView {
            record,
            pool,
            object,
            unique_bytes,
            snapshot_bytes,
            snapshots,
            source,
            luns,
            limited,
            warnings,
        })
    }
}

/// Reservation after a change: unspecified values stay, and a new reservation is a full one.
fn wanted_reservation(
    present: Option<Reservation>,
    reserve: Option<Reserve>,
    percent: Option<u8>,
    name: &str,
) -> Result<Option<Reservation>, ControlError> {
    if let Some(percent @ 101..) = percent {
        return Err(VolumeError::BadReservation { percent }.into());
    }
    let thick = |percent: Option<u8>| {
        let overwrite_percent = percent.or(present.map(|present| present.overwrite_percent)).unwrap_or(100);
        Some(Reservation { overwrite_percent })
    };
    match (reserve, percent, present) {
        (Some(Reserve::Thin), Some(_), _) | (None, Some(_), None) => {
            Err(VolumeError::NotThick { name: name.to_owned() }.into())
        }
        (Some(Reserve::Thin), None, _) => Ok(None),
        (Some(Reserve::Thick), percent, _) | (None, percent @ Some(_), Some(_)) => Ok(thick(percent)),
        (None, None, present) => Ok(present),
    }
}

/// Largest number of labels of a volume.
const MAX_LABELS: usize = 16;

/// Checks that a volume can have these labels.
fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), ControlError> {
    if labels.len() > MAX_LABELS {
        return Err(ControlError::InvalidSetting(format!("a volume has at most {MAX_LABELS} labels")));
    }
    labels.iter().try_for_each(|(key, value)| check_label(key, value))
}

/// Checks that a volume can have this size.
fn check_size(size_bytes: u64) -> Result<(), ControlError> {
    if size_bytes == 0 || !size_bytes.is_multiple_of(512) || size_bytes > MAX_VOLUME_BYTES {
        return Err(VolumeError::InvalidSize { size_bytes, max_bytes: MAX_VOLUME_BYTES }.into());
    }
    Ok(())
}
