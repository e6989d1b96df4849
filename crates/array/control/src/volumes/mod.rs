//! Volumes: list and show. Each verb that changes a volume has its own file.

mod create;
mod delete;
mod rollback;
mod set;
mod space;

pub(crate) mod record;

pub use create::{Reserve, VolumeCreate};
pub use delete::VolumeDelete;
pub use rollback::VolumeRollback;
pub use set::VolumeSet;
pub use space::{KeptBy, SpaceView, UnmapReport, VolumeSpace};

use crate::pools::unique::Patience;
use crate::{Control, ControlError, Noun, Request, SourceRecord, User, UserKind, VolumeRecord};
use pool::{ObjectInfo, Reservation};
use uuid::Uuid;

/// Largest volume: 16 TiB.
pub const MAX_VOLUME_BYTES: u64 = 16 << 40;

/// Every volume, by name.
#[derive(Clone, Debug)]
pub struct VolumeList;

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
    /// Its object.
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

impl Request for VolumeList {
    type Reply = Vec<VolumeView>;
    const NAME: &'static str = "volume-list";

    async fn run(&self, control: &Control) -> Result<Vec<VolumeView>, ControlError> {
        let mut records: Vec<VolumeRecord> = control.directory().volumes.values().cloned().collect();
        records.sort_by(|one, other| one.name.cmp(&other.name));
        control.forget_counts();
        let mut views = Vec::with_capacity(records.len());
        let mut patience = control.patience();
        for record in records {
            views.extend(control.volume_view(record, &mut patience).await);
        }
        Ok(views)
    }
}

impl Request for VolumeShow {
    type Reply = VolumeView;
    const NAME: &'static str = "volume-show";

    async fn run(&self, control: &Control) -> Result<VolumeView, ControlError> {
        let record = control.directory().volume(&self.volume)?.clone();
        control.show_volume(record).await
    }
}

impl Control {
    /// Counts one volume and returns its view. Errors: `NotFound` if it was deleted meanwhile.
    pub(crate) async fn show_volume(&self, record: VolumeRecord) -> Result<VolumeView, ControlError> {
        let name = record.name.clone();
        let view = self.volume_view(record, &mut self.patience()).await;
        view.ok_or(ControlError::NotFound { noun: Noun::Volume, name })
    }

    /// A volume with its space and access; absent when it was deleted meanwhile.
    pub(crate) async fn volume_view(&self, record: VolumeRecord, patience: &mut Patience) -> Option<VolumeView> {
        let (object, unique_bytes) = self.space_of(record.object, patience).await?;
        let snapshot_bytes = self.snapshot_bytes(record.id, patience).await;
        let directory = self.directory();
        let source = record.source.map(|source| {
            let (snapshot, id) = match source {
                SourceRecord::Volume(id) => (false, id),
                SourceRecord::Snapshot(id) => (true, id),
            };
            SourceView { snapshot, id, name: directory.source_name(source) }
        });
        let mut luns: Vec<LunView> = directory
            .access_of(record.id)
            .map(|access| LunView {
                name: Some(directory.grantee(access.to()).word()),
                lun: access.lun,
                iscsi_url: self.iscsi_url(&directory.target, access.lun),
            })
            .collect();
        luns.sort_by(|one, other| one.name.cmp(&other.name).then(one.lun.cmp(&other.lun)));
        let snapshots = directory.snapshots.values().filter(|snapshot| snapshot.volume == record.id).count();
        drop(directory);
        let snapshots = u64::try_from(snapshots).unwrap_or(u64::MAX);
        Some(VolumeView { record, object, unique_bytes, snapshot_bytes, snapshots, source, luns })
    }

    /// Who uses a volume: its grants, and the sessions that see it through them.
    pub(crate) fn volume_users(&self, record: &VolumeRecord) -> Vec<User> {
        let directory = self.directory();
        let mut users: Vec<User> = directory
            .access_of(record.id)
            .map(|access| User {
                kind: UserKind::Access,
                description: format!("{}, LUN {}", directory.grantee(access.to()), access.lun),
            })
            .collect();
        let sees =
            |initiator: &str| directory.nexus(initiator).logical_units.iter().any(|unit| unit.object == record.object);
        let sessions = self.live.sessions();
        users.extend(
            sessions.iter().filter(|session| sees(&session.initiator)).map(|session| self.session_user(session)),
        );
        users
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
        return Err(ControlError::BadReservation { percent });
    }
    let thick = |percent: Option<u8>| {
        let overwrite_percent = percent.or(present.map(|present| present.overwrite_percent)).unwrap_or(100);
        Some(Reservation { overwrite_percent })
    };
    match (reserve, percent, present) {
        (Some(Reserve::Thin), Some(_), _) | (None, Some(_), None) => {
            Err(ControlError::NotThick { name: name.to_owned() })
        }
        (Some(Reserve::Thin), None, _) => Ok(None),
        (Some(Reserve::Thick), percent, _) | (None, percent @ Some(_), Some(_)) => Ok(thick(percent)),
        (None, None, present) => Ok(present),
    }
}

/// Checks that a volume can have this size.
fn check_size(size_bytes: u64) -> Result<(), ControlError> {
    if size_bytes == 0 || !size_bytes.is_multiple_of(512) || size_bytes > MAX_VOLUME_BYTES {
        return Err(ControlError::InvalidSize { size_bytes, max_bytes: MAX_VOLUME_BYTES });
    }
    Ok(())
}
