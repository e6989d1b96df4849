//! Persistent reservations that survive a power loss (APTPL, SPC-4 §5.9): one document for each
//! volume that has any. They are deleted with the volume; clones and snapshots do not inherit them.

use crate::condition::Noun;
use crate::control::Control;
use crate::error::ControlError;
use crate::pools::error::PoolRefusal;
use crate::record::{Document, load};
use crate::reservations::record::{RegistrationRecord, ReservationsRecord};
use pool::{CatalogChange, ObjectId};

/// Largest document that the pool accepts.
const MAX_DOCUMENT_BYTES: usize = 64 << 10;

impl Control {
    /// Stored records for the running target at its start, each with its volume's object. Errors:
    /// `Damaged` if a document cannot be read or its volume does not exist.
    pub fn reservations(&self) -> Result<Vec<(ObjectId, ReservationsRecord)>, ControlError> {
        let directory = self.directory();
        let records: Vec<ReservationsRecord> = load(&**self.catalog())?;
        let with_object = |record: ReservationsRecord| {
            let Some(volume) = directory.volume_by_id(record.volume) else {
                let reason = format!("there are reservations of volume {}, which is not there", record.volume);
                return Err(ControlError::Damaged { reason });
            };
            Ok((volume.object, record))
        };
        records.into_iter().map(with_object).collect()
    }

    /// Replaces the stored reservations of the volume in `object`; without registrations, deletes
    /// them. Durable on return.
    ///
    /// Errors: `NoSpace` if the pool is full or the registrations do not fit in a document;
    /// `NotFound` if the volume does not exist; the pool's errors. Nothing has changed then, unless the pool
    /// stopped: the next start may find the change.
    pub async fn store_reservations(
        &self,
        object: ObjectId,
        registrations: Vec<RegistrationRecord>,
        reservation_type: Option<u8>,
    ) -> Result<(), ControlError> {
        let _changes = self.lock_changes().await;
        let volume = self.directory().volume_of(object).map(|volume| volume.id);
        let volume =
            volume.ok_or(ControlError::NotFound { noun: Noun::Volume, name: format!("object {}", object.0) })?;
        let record = ReservationsRecord { volume, registrations, reservation_type };
        let change = if record.registrations.is_empty() { record.delete() } else { record.put()? };
        if let CatalogChange::PutDocument { value, .. } = &change
            && value.len() > MAX_DOCUMENT_BYTES
        {
            return Err(PoolRefusal::NoSpace { available_bytes: self.catalog().space().free_bytes }.into());
        }
        self.store(vec![change]).await
    }

    /// Change that deletes the reservations of a volume, if there are any.
    pub(crate) fn without_reservations(&self, volume: uuid::Uuid) -> Option<CatalogChange> {
        let record = ReservationsRecord { volume, registrations: Vec::new(), reservation_type: None };
        self.catalog().document(&record.key()).map(|_| record.delete())
    }
}
