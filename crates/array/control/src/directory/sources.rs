//! Sources of clones of volumes, and of files that are made of volumes.

use super::Directory;
use crate::condition::Noun;
use crate::error::ControlError;
use crate::volumes::error::VolumeError;
use crate::volumes::record::SourceRecord;
use pool::ObjectId;

/// Object with the content of a clone.
pub(crate) struct Found {
    pub record: SourceRecord,
    pub object: ObjectId,
    pub name: String,
}

impl Directory {
    /// Finds a clone's source: a volume by name or id, else a snapshot.
    pub(crate) fn volume_source(&self, name: &str) -> Result<Found, ControlError> {
        let source = |record, object, name| Found { record, object, name };
        if let Ok(volume) = self.volume(name) {
            return Ok(source(SourceRecord::Volume(volume.id), volume.object, volume.name.clone()));
        }
        if self.share(name).is_ok() {
            return Err(VolumeError::SourceIsShare { name: name.to_owned() }.into());
        }
        match self.snapshot(name) {
            Ok(snapshot) if self.share_by_id(snapshot.volume).is_some() => {
                Err(VolumeError::SourceIsShare { name: self.full_name(snapshot) }.into())
            }
            Ok(snapshot) => Ok(source(SourceRecord::Snapshot(snapshot.id), snapshot.object, self.full_name(snapshot))),
            Err(ControlError::NotFound { noun: Noun::Snapshot, name }) if !name.contains('@') => {
                Err(ControlError::NotFound { noun: Noun::Volume, name })
            }
            Err(error) => Err(error),
        }
    }
}
