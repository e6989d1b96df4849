//! Persistent reservations that outlive a loss of power (APTPL, SPC-4 §5.9): one document for each volume that has any. They go with the
//! volume; neither a clone nor a snapshot has them.

use crate::record::{Document, load};
use crate::{Control, ControlError, Noun, ReservationsRecord};
use pool::{CatalogChange, ObjectId};

/// The largest document that the pool takes.
const MAX_DOCUMENT_BYTES: usize = 64 << 10;

impl Control {
    /// What is kept, for the running target at its start: each record with its volume's object. Errors: `Damaged`, when a document cannot be
    /// read or its volume is not there.
    pub fn reservations(&self) -> Result<Vec<(ObjectId, ReservationsRecord)>, ControlError> {
        let directory = self.directory();
        let records: Vec<ReservationsRecord> = load(&*self.catalog)?;
        let with_object = |record: ReservationsRecord| {
            let Some(volume) = directory.volumes.get(&record.volume) else {
                let reason = format!("there are reservations of volume {}, which is not there", record.volume);
                return Err(ControlError::Damaged { reason });
            };
            Ok((volume.object, record))
        };
        records.into_iter().map(with_object).collect()
    }

    /// Keeps this in place of what was kept for the volume in `object`; without registrations, nothing. Durable on return.
    ///
    /// Errors: `NoSpace` when the pool is full or there are more registrations than fit a document; `NotFound` when there is no such
    /// volume (any more); the pool's errors. Nothing was changed then.
    pub async fn store_reservations(
        &self,
        object: ObjectId,
        registrations: Vec<crate::RegistrationRecord>,
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
            return Err(ControlError::NoSpace { available_bytes: self.catalog.space().free_bytes });
        }
        self.commit(vec![change], |_| {}, &[]).await
    }

    /// What deletes the reservations of a volume, if there are any.
    pub(crate) fn without_reservations(&self, volume: uuid::Uuid) -> Option<CatalogChange> {
        let record = ReservationsRecord { volume, registrations: Vec::new(), reservation_type: None };
        self.catalog.document(&record.key()).map(|_| record.delete())
    }
}
