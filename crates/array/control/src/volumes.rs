//! Volumes: list, show, create, clone, rename, grow, settings, delete.

use crate::environment::new_id;
use crate::names::check_name;
use crate::record::Document;
use crate::unique::Patience;
use crate::{
    Change, Control, ControlError, Directory, LunView, MAX_VOLUME_BYTES, Naa, Noun, Reply, Reserve, SnapshotRecord,
    SourceRecord, SourceView, User, UserKind, VolumeCreate, VolumeRecord, VolumeSet, VolumeView,
};
use pool::{CatalogChange, ObjectId, ObjectKind, Reservation};

/// What a clone shares its content with.
struct Source {
    record: SourceRecord,
    object: ObjectId,
    name: String,
}

impl Control {
    pub(crate) async fn volume_list(&self) -> Vec<VolumeView> {
        let mut records: Vec<VolumeRecord> = self.directory().volumes.values().cloned().collect();
        records.sort_by(|one, other| one.name.cmp(&other.name));
        self.forget_counts();
        let mut views = Vec::with_capacity(records.len());
        let mut patience = self.patience();
        for record in records {
            views.extend(self.volume_view(record, &mut patience).await);
        }
        views
    }

    pub(crate) async fn volume_show(&self, name: &str) -> Result<Reply, ControlError> {
        let record = self.directory().volume(name)?.clone();
        self.volume_reply(record, false).await
    }

    pub(crate) async fn volume_create(&self, create: VolumeCreate) -> Result<Reply, ControlError> {
        check_name(Noun::Volume, &create.name)?;
        create.size_bytes.map_or(Ok(()), check_size)?;
        let _changes = self.lock_changes().await;
        let source = create.source.as_deref().map(|name| find_source(&self.directory(), name)).transpose()?;
        let existing = self.directory().volume(&create.name).ok().cloned();
        if let Some(existing) = existing {
            self.check_same(&existing, &create, source.as_ref())?;
            return self.volume_reply(existing, false).await;
        }
        let reservation = wanted_reservation(None, create.reserve, create.overwrite_reserve_percent, &create.name)?;
        let object = self.catalog.new_object_id();
        let mut changes = Vec::new();
        match &source {
            None => {
                let size_bytes =
                    create.size_bytes.ok_or_else(|| ControlError::SizeMissing { name: create.name.clone() })?;
                check_size(size_bytes)?;
                self.check_commitment(size_bytes)?;
                changes.push(CatalogChange::CreateVolume { id: object, size_bytes });
            }
            Some(source) => {
                let present_bytes = self.object(source.object)?.size_bytes;
                let size_bytes = create.size_bytes.unwrap_or(present_bytes);
                check_size(size_bytes)?;
                if size_bytes < present_bytes {
                    let reason = source.name.clone();
                    return Err(ControlError::WouldShrink { name: create.name, size_bytes, present_bytes, reason });
                }
                self.check_commitment(size_bytes)?;
                let (source, kind) = (source.object, ObjectKind::Volume);
                changes.push(CatalogChange::CloneObject { source, id: object, kind });
                if size_bytes > present_bytes {
                    changes.push(CatalogChange::Resize { id: object, size_bytes });
                }
            }
        }
        if create.write_cache || source.is_some() {
            changes.push(CatalogChange::SetWriteCache { id: object, enabled: create.write_cache });
        }
        if reservation.is_some() {
            changes.push(CatalogChange::SetReservation { id: object, reservation });
        }
        if let Some(enabled) = create.zero_detection.filter(|enabled| !*enabled || source.is_some()) {
            changes.push(CatalogChange::SetZeroDetection { id: object, enabled });
        }
        let record = VolumeRecord {
            id: new_id(&*self.environment),
            object,
            name: create.name,
            naa: Naa::of(self.directory().array.id, object),
            created: self.environment.now(),
            source: source.map(|source| source.record),
            warn_percent: None,
            critical_percent: None,
        };
        changes.push(record.put()?);
        let stored = record.clone();
        let apply = |directory: &mut Directory| drop(directory.volumes.insert(stored.id, stored));
        self.commit(changes, apply, &[Change::VolumeAdded { object }]).await?;
        self.volume_reply(record, true).await
    }

    pub(crate) async fn volume_set(&self, set: VolumeSet) -> Result<Reply, ControlError> {
        if [set.warn_percent, set.critical_percent].iter().any(|share| matches!(share, Some(Some(0 | 101..)))) {
            return Err(ControlError::InvalidSetting("a threshold is 1 to 100 percent, or off".to_owned()));
        }
        self.count_before_promising(&set).await?;
        let _changes = self.lock_changes().await;
        let mut record = self.directory().volume(&set.volume)?.clone();
        let present = self.object(record.object)?;
        let object = record.object;
        let (mut changes, mut published) = (Vec::new(), Vec::new());
        if let Some(name) = set.name.filter(|name| *name != record.name) {
            check_name(Noun::Volume, &name)?;
            if self.directory().volume(&name).is_ok() {
                return Err(ControlError::Exists { noun: Noun::Volume, name, difference: String::new() });
            }
            record.name = name;
        }
        if let Some(warn_percent) = set.warn_percent {
            record.warn_percent = warn_percent;
        }
        if let Some(critical_percent) = set.critical_percent {
            record.critical_percent = critical_percent;
        }
        if let (Some(warn), Some(critical)) = (record.warn_percent, record.critical_percent)
            && warn >= critical
        {
            return Err(ControlError::InvalidSetting(format!(
                "volume {} cannot warn at {warn} % when it is critical at {critical} %: critical is above warn",
                record.name
            )));
        }
        let thresholds = |volume: &VolumeRecord| (volume.warn_percent, volume.critical_percent);
        if self.directory().volumes.get(&record.id).is_some_and(|before| thresholds(before) != thresholds(&record)) {
            published.push(Change::ThresholdsChanged { object: Some(object) });
        }
        if self.directory().volumes.get(&record.id) != Some(&record) {
            changes.push(record.put()?);
        }
        if let Some(size_bytes) = set.size_bytes.filter(|size_bytes| *size_bytes != present.size_bytes) {
            check_size(size_bytes)?;
            if size_bytes < present.size_bytes {
                let (name, reason) = (record.name, "it".to_owned());
                return Err(ControlError::WouldShrink { name, size_bytes, present_bytes: present.size_bytes, reason });
            }
            self.check_commitment(size_bytes - present.size_bytes)?;
            changes.push(CatalogChange::Resize { id: object, size_bytes });
            published.push(Change::VolumeResized { object, size_bytes });
        }
        if let Some(enabled) = set.write_cache.filter(|enabled| *enabled != present.write_cache) {
            changes.push(CatalogChange::SetWriteCache { id: object, enabled });
            published.push(Change::WriteCacheChanged { object, enabled });
        }
        let reservation =
            wanted_reservation(present.reservation, set.reserve, set.overwrite_reserve_percent, &record.name)?;
        if reservation != present.reservation {
            changes.push(CatalogChange::SetReservation { id: object, reservation });
        }
        if let Some(enabled) = set.zero_detection.filter(|enabled| *enabled != present.zero_detection) {
            changes.push(CatalogChange::SetZeroDetection { id: object, enabled });
        }
        if !changes.is_empty() {
            let stored = record.clone();
            let apply = |directory: &mut Directory| drop(directory.volumes.insert(stored.id, stored));
            self.commit(changes, apply, &published).await?;
        }
        self.volume_reply(record, false).await
    }

    /// What a written volume shares is counted before space is promised to it: otherwise all of it would count as shared. Long for a large
    /// volume, and done without the right to change.
    async fn count_before_promising(&self, set: &VolumeSet) -> Result<(), ControlError> {
        let record = self.directory().volume(&set.volume)?.clone();
        let present = self.object(record.object)?;
        let (reserve, percent) = (set.reserve, set.overwrite_reserve_percent);
        let wanted = wanted_reservation(present.reservation, reserve, percent, &record.name)?;
        if wanted.is_some() && wanted != present.reservation && present.mapped_bytes > 0 {
            self.catalog.recount(record.object).await.map_err(|error| self.pool_error(error))?;
        }
        Ok(())
    }

    pub(crate) async fn volume_delete(&self, name: &str, with_snapshots: bool) -> Result<Reply, ControlError> {
        let _changes = self.lock_changes().await;
        let record = self.directory().volume(name)?.clone();
        let users = self.volume_users(&record);
        if !users.is_empty() {
            return Err(ControlError::InUse { noun: Noun::Volume, name: record.name, users });
        }
        let snapshots: Vec<SnapshotRecord> =
            self.directory().snapshots.values().filter(|snapshot| snapshot.volume == record.id).cloned().collect();
        if !snapshots.is_empty() && !with_snapshots {
            let user = |snapshot: &SnapshotRecord| User {
                kind: UserKind::Snapshot,
                description: format!("{} of {:.0}", snapshot.name, snapshot.created),
            };
            return Err(ControlError::HasSnapshots { name: record.name, users: snapshots.iter().map(user).collect() });
        }
        let mut changes = vec![CatalogChange::DeleteObject { id: record.object }, record.delete()];
        changes.extend(self.without_reservations(record.id));
        changes.extend(self.without_sanitize_operation(record.id));
        for snapshot in &snapshots {
            changes.extend([CatalogChange::DeleteObject { id: snapshot.object }, snapshot.delete()]);
        }
        let apply = |directory: &mut Directory| {
            directory.volumes.remove(&record.id);
            directory.snapshots.retain(|_, snapshot| snapshot.volume != record.id);
        };
        self.commit(changes, apply, &[Change::VolumeRemoved { object: record.object }]).await?;
        Ok(Reply::Done)
    }

    /// Who uses a volume: its grants, and the sessions that see it through them.
    pub(crate) fn volume_users(&self, record: &VolumeRecord) -> Vec<User> {
        let directory = self.directory();
        let mut users: Vec<User> = directory
            .access_of(record.id)
            .map(|access| User {
                kind: UserKind::Access,
                description: format!("{}, LUN {}", directory.grantee(access.host), access.lun),
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

    /// A volume that exists is what `create` asks for.
    fn check_same(
        &self,
        existing: &VolumeRecord,
        create: &VolumeCreate,
        source: Option<&Source>,
    ) -> Result<(), ControlError> {
        let present = self.object(existing.object)?;
        let difference = if create.size_bytes.is_some_and(|size_bytes| size_bytes != present.size_bytes) {
            format!(" with {} bytes", present.size_bytes)
        } else if create.size_bytes.is_none() && source.is_none() {
            return Err(ControlError::SizeMissing { name: create.name.clone() });
        } else if existing.source != source.map(|source| source.record) {
            match existing.source {
                Some(_) => " as a clone of something else".to_owned(),
                None => " and is not a clone".to_owned(),
            }
        } else if create.write_cache != present.write_cache {
            format!(" with its write cache {}", if present.write_cache { "on" } else { "off" })
        } else if present.reservation
            != wanted_reservation(None, create.reserve, create.overwrite_reserve_percent, &create.name)?
        {
            match present.reservation {
                Some(reservation) => {
                    format!(" as a thick volume with an overwrite reserve of {} %", reservation.overwrite_percent)
                }
                None => " as a thin volume".to_owned(),
            }
        } else if create.zero_detection.is_some_and(|enabled| enabled != present.zero_detection) {
            format!(" with zero detection {}", if present.zero_detection { "on" } else { "off" })
        } else {
            return Ok(());
        };
        Err(ControlError::Exists { noun: Noun::Volume, name: existing.name.clone(), difference })
    }

    /// The reply about one volume.
    pub(crate) async fn volume_reply(&self, record: VolumeRecord, created: bool) -> Result<Reply, ControlError> {
        let name = record.name.clone();
        let view = self
            .volume_view(record, &mut self.patience())
            .await
            .ok_or(ControlError::NotFound { noun: Noun::Volume, name })?;
        Ok(Reply::Volume { view: Box::new(view), created })
    }

    /// A volume with its space and access; absent when it was deleted meanwhile.
    async fn volume_view(&self, record: VolumeRecord, patience: &mut Patience) -> Option<VolumeView> {
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
                name: directory.host_name(access.host),
                lun: access.lun,
                iscsi_url: self.iscsi_url(&directory.target, access.lun),
            })
            .collect();
        luns.sort_by(|one, other| one.name.cmp(&other.name));
        let snapshots = directory.snapshots.values().filter(|snapshot| snapshot.volume == record.id).count();
        drop(directory);
        let snapshots = u64::try_from(snapshots).unwrap_or(u64::MAX);
        Some(VolumeView { record, object, unique_bytes, snapshot_bytes, snapshots, source, luns })
    }
}

/// The reservation after a change: what is not said stays, and a new promise is a full one.
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

/// A size that a volume can have.
fn check_size(size_bytes: u64) -> Result<(), ControlError> {
    if size_bytes == 0 || !size_bytes.is_multiple_of(512) || size_bytes > MAX_VOLUME_BYTES {
        return Err(ControlError::InvalidSize { size_bytes, max_bytes: MAX_VOLUME_BYTES });
    }
    Ok(())
}

/// A clone's source: a volume by name or id, else a snapshot.
fn find_source(directory: &Directory, name: &str) -> Result<Source, ControlError> {
    if let Ok(volume) = directory.volume(name) {
        let record = SourceRecord::Volume(volume.id);
        return Ok(Source { record, object: volume.object, name: volume.name.clone() });
    }
    match directory.snapshot(name) {
        Ok(snapshot) => Ok(Source {
            record: SourceRecord::Snapshot(snapshot.id),
            object: snapshot.object,
            name: directory.full_name(snapshot),
        }),
        Err(ControlError::NotFound { noun: Noun::Snapshot, name }) if !name.contains('@') => {
            Err(ControlError::NotFound { noun: Noun::Volume, name })
        }
        Err(error) => Err(error),
    }
}
