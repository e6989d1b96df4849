//! `volume create` and `volume clone`: a new volume, empty or with the content of another volume or
//! a snapshot.

use super::{check_labels, check_size, wanted_reservation};
use crate::condition::Noun;
use crate::control::Control;
use crate::difference::Difference;
use crate::directory::sources::Found;
use crate::environment::new_id;
use crate::error::ControlError;
use crate::events::Draft;
use crate::file_places::Named;
use crate::files::error::FileError;
use crate::live::Change;
use crate::live_files::{CapturedFile, LiveFiles};
use crate::naa::Naa;
use crate::names::check_name;
use crate::record::Document;
use crate::request::{Outcome, Request};
use crate::volumes::VolumeView;
use crate::volumes::error::VolumeError;
use crate::volumes::record::{SourceRecord, VolumeRecord};
use pool::{CatalogChange, ObjectId, ObjectKind, Reservation};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Unit in which files share content with volumes.
const FILE_GRAIN_BYTES: u64 = 4096;

/// Creates a volume. An empty volume of an existing name and the same parameters is not created
/// again; it has the content that hosts have written since. A clone of an existing name is refused:
/// the request is for the content of its source at this time.
#[derive(Clone, Debug, Default)]
pub struct VolumeCreate {
    /// Name, unique among volumes and shares.
    pub name: String,
    /// Required unless `source` is given; a clone may be larger than its source.
    pub size_bytes: Option<u64>,
    /// Volume or snapshot to clone.
    pub source: Option<String>,
    /// File whose content the volume shares, as `SHARE/PATH`; excludes `source`.
    pub source_file: Option<String>,
    /// Pool, by name; the default pool if absent. A clone is in the pool of its source.
    pub pool: Option<String>,
    /// True to acknowledge writes before they are durable.
    pub write_cache: bool,
    /// Thin if absent.
    pub reserve: Option<Reserve>,
    /// Percentage (0 to 100) of the space shared with snapshots and clones that is kept free for a
    /// thick volume; 100 if absent.
    pub overwrite_reserve_percent: Option<u8>,
    /// True to store no zeros of written data; on if absent.
    pub zero_detection: Option<bool>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
}

/// Space reservation of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// Writes never fail for lack of space.
    Thick,
    /// Writes take space that is free.
    Thin,
}

impl Request for VolumeCreate {
    type Reply = Outcome<VolumeView>;
    const NAME: &'static str = "volume-create";

    async fn run(&self, control: &Control) -> Result<Outcome<VolumeView>, ControlError> {
        check_name(Noun::Volume, &self.name)?;
        control.pool_named(self.pool.as_deref())?;
        self.size_bytes.map_or(Ok(()), check_size)?;
        check_labels(&self.labels)?;
        let reservation = || wanted_reservation(None, self.reserve, self.overwrite_reserve_percent, &self.name);
        let _changes = control.lock_changes().await;
        let origin = self.origin(control)?;
        let existing = control.directory().volume(&self.name).ok().cloned();
        if let Some(existing) = existing {
            if origin.is_some() {
                let difference = Some(Difference::Created(existing.created));
                return Err(ControlError::Exists { noun: Noun::Volume, name: existing.name, difference });
            }
            check_same(control, &existing, self)?;
            return Ok(Outcome::unchanged(control.show_volume(existing).await?));
        }
        control.directory().check_name_free(&self.name)?;
        let reservation = reservation()?;
        // Deletes the capture if this future is dropped.
        let (source, captured) = match origin {
            None => (None, None),
            Some(Origin::Object(source)) => (Some(source), None),
            Some(Origin::File(file)) => {
                let (source, captured) = file.capture(control).await?;
                (Some(source), Some(captured))
            }
        };
        let made = self.make(control, source.as_ref(), reservation).await;
        if let Some(captured) = captured {
            if made.is_err() {
                // A stopped pool keeps it until the next start.
                let delete = CatalogChange::DeleteObject { id: captured.capture };
                let _deleted = control.catalog().commit(vec![delete]).await;
            }
            captured.used();
        }
        let mut view = control.show_volume(made?).await?;
        view.warnings = control.space_warnings();
        Ok(Outcome::changed(view))
    }

    fn event(&self, outcome: &Outcome<VolumeView>) -> Option<Draft> {
        let source = self.source.as_ref().or(self.source_file.as_ref());
        let from = source.map(|source| format!(" as a clone of {source}")).unwrap_or_default();
        let event = || Draft::info("volume-created", &self.name, format!("volume {} created{from}", self.name));
        outcome.changed.then(event)
    }
}

impl VolumeCreate {
    /// Finds the source of a clone.
    fn origin(&self, control: &Control) -> Result<Option<Origin>, ControlError> {
        match (&self.source, &self.source_file) {
            (None, None) => Ok(None),
            (Some(name), None) => {
                let found = control.directory().volume_source(name)?;
                let size_bytes = control.object(found.object)?.size_bytes;
                Ok(Some(Origin::Object(Source { found, size_bytes, is_capture: false })))
            }
            (None, Some(path)) => {
                let (named, files) = control.file(path)?;
                Ok(Some(Origin::File(FileOrigin { named, files })))
            }
            (Some(_), Some(_)) => {
                let reason = format!("volume {} has one source: a volume or snapshot, or a file", self.name);
                Err(ControlError::InvalidSetting(reason))
            }
        }
    }

    /// Creates the volume, in one commit.
    async fn make(
        &self,
        control: &Control,
        source: Option<&Source>,
        reservation: Option<Reservation>,
    ) -> Result<VolumeRecord, ControlError> {
        let object = control.catalog().new_object_id();
        let mut changes = content(control, object, source, self)?;
        changes.extend(settings(object, reservation, source.is_some(), self));
        let record = VolumeRecord {
            id: new_id(&**control.environment()),
            object,
            name: self.name.clone(),
            naa: Naa::of(control.directory().array().id, object),
            created: control.environment().now(),
            source: source.map(|source| source.found.record),
            warn_percent: None,
            critical_percent: None,
            labels: self.labels.clone(),
            policy: None,
        };
        changes.push(record.put()?);
        control.commit(changes, vec![record.clone().into()], &[Change::VolumeAdded { object }]).await?;
        Ok(record)
    }
}

/// Source that a request names.
enum Origin {
    Object(Source),
    File(FileOrigin),
}

/// File whose content a volume shares.
struct FileOrigin {
    named: Named,
    files: Rc<dyn LiveFiles>,
}

impl FileOrigin {
    /// Captures the content of the file. A volume consists of whole blocks: what is behind the end is zero.
    async fn capture(&self, control: &Control) -> Result<(Source, CapturedFile), ControlError> {
        let captured = self.files.capture(self.named.place.clone()).await;
        let captured = captured.map_err(|refusal| self.named.refused(control, refusal))?;
        let (record, name) = (SourceRecord::Share(self.named.share.id), self.named.place.shown.clone());
        let found = Found { record, object: captured.capture, name };
        let size_bytes = captured.size_bytes.next_multiple_of(FILE_GRAIN_BYTES);
        Ok((Source { found, size_bytes, is_capture: true }, captured))
    }
}

/// Source of a clone.
struct Source {
    found: Found,
    /// Size of the content.
    size_bytes: u64,
    /// True if the object is a capture, which the volume replaces.
    is_capture: bool,
}

/// Changes that create the object, empty or as a clone.
fn content(
    control: &Control,
    id: ObjectId,
    source: Option<&Source>,
    create: &VolumeCreate,
) -> Result<Vec<CatalogChange>, ControlError> {
    let Some(source) = source else {
        let missing = || VolumeError::SizeMissing { name: create.name.clone() };
        let size_bytes = create.size_bytes.ok_or_else(missing)?;
        check_size(size_bytes)?;
        control.check_commitment(size_bytes)?;
        return Ok(vec![CatalogChange::CreateVolume { id, size_bytes }]);
    };
    let present_bytes = source.size_bytes;
    if source.is_capture && present_bytes == 0 {
        return Err(FileError::Empty { path: source.found.name.clone() }.into());
    }
    let size_bytes = create.size_bytes.unwrap_or(present_bytes);
    check_size(size_bytes)?;
    if size_bytes < present_bytes {
        let (name, parent) = (create.name.clone(), Some(source.found.name.clone()));
        return Err(VolumeError::WouldShrink { name, size_bytes, present_bytes, parent }.into());
    }
    control.check_commitment(size_bytes)?;
    let mut changes = match source.is_capture {
        true => CatalogChange::capture_becomes_volume(source.found.object, id, present_bytes).to_vec(),
        false => vec![CatalogChange::CloneObject { source: source.found.object, id, kind: ObjectKind::Volume }],
    };
    changes.extend((size_bytes > present_bytes).then_some(CatalogChange::Resize { id, size_bytes }));
    Ok(changes)
}

/// Changes of settings that a new object does not have. A clone has those of its source.
fn settings(
    id: ObjectId,
    reservation: Option<Reservation>,
    is_clone: bool,
    create: &VolumeCreate,
) -> Vec<CatalogChange> {
    let mut changes = Vec::new();
    if create.write_cache || is_clone {
        changes.push(CatalogChange::SetWriteCache { id, enabled: create.write_cache });
    }
    if reservation.is_some() {
        changes.push(CatalogChange::SetReservation { id, reservation });
    }
    if let Some(enabled) = create.zero_detection.filter(|enabled| !*enabled || is_clone) {
        changes.push(CatalogChange::SetZeroDetection { id, enabled });
    }
    changes
}

/// Checks that an existing volume matches the request for an empty one.
fn check_same(control: &Control, existing: &VolumeRecord, create: &VolumeCreate) -> Result<(), ControlError> {
    let present = control.object(existing.object)?;
    let difference = if create.size_bytes.is_some_and(|size_bytes| size_bytes != present.size_bytes) {
        Difference::Size(present.size_bytes)
    } else if create.size_bytes.is_none() {
        return Err(VolumeError::SizeMissing { name: create.name.clone() }.into());
    } else if existing.source.is_some() {
        Difference::Clone
    } else if create.write_cache != present.write_cache {
        Difference::WriteCache(present.write_cache)
    } else if present.reservation
        != wanted_reservation(None, create.reserve, create.overwrite_reserve_percent, &create.name)?
    {
        match present.reservation {
            Some(reservation) => Difference::Thick(reservation.overwrite_percent),
            None => Difference::Thin,
        }
    } else if create.zero_detection.is_some_and(|enabled| enabled != present.zero_detection) {
        Difference::ZeroDetection(present.zero_detection)
    } else {
        return Ok(());
    };
    Err(ControlError::Exists { noun: Noun::Volume, name: existing.name.clone(), difference: Some(difference) })
}
