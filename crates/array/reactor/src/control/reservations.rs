//! Reservations between units, which hold them, and `control`, which stores them in the pool.

use super::super::ArrayUnits;
use block::VolumeId;
use control::{Control, ControlError, PoolRefusal, RegistrationRecord};
use media::Media;
use pool::ObjectId;
use unit::{PersistedRegistration, PersistedReservations, ReservationType, StoreError};

/// Restores stored reservations. Must be called when every unit exists and before the first host is
/// admitted.
pub(crate) fn load<M: Media + 'static>(units: &ArrayUnits<M>, control: &Control) -> Result<(), ControlError> {
    for (object, record) in control.reservations()? {
        let restored = persisted(record.registrations, record.reservation_type);
        let consistent = restored.is_some_and(|kept| units.restore_reservations(VolumeId(object.0), &kept));
        if !consistent {
            let reason = format!("the reservations of object {} contradict themselves", object.0);
            return Err(ControlError::Damaged { reason });
        }
    }
    Ok(())
}

/// Converts a record to reservations; `None` for a name or type that does not exist.
fn persisted(registrations: Vec<RegistrationRecord>, kind: Option<u8>) -> Option<PersistedReservations> {
    let registration = |record: RegistrationRecord| {
        let registrant = scsi_target::registrant(&record.registrant, record.target_port)?;
        Some(PersistedRegistration { registrant, key: record.key, holder: record.holder })
    };
    let reservation_type = match kind {
        None => None,
        Some(number) => Some(ReservationType::from_number(number)?),
    };
    let registrations = registrations.into_iter().map(registration).collect::<Option<_>>()?;
    Some(PersistedReservations { registrations, reservation_type })
}

/// Stores the reservations of a volume as a document of the pool.
pub(crate) async fn store(
    control: &Control,
    volume: VolumeId,
    reservations: Option<PersistedReservations>,
) -> Result<(), StoreError> {
    let (kept, reservation_type) =
        reservations.map_or((Vec::new(), None), |kept| (kept.registrations, kept.reservation_type));
    let record = |registration: PersistedRegistration| {
        let registrant = registration.registrant;
        Some(RegistrationRecord {
            registrant: scsi_target::initiator_port(&registrant)?,
            target_port: registrant.target_port,
            key: registration.key,
            holder: registration.holder,
        })
    };
    let registrations = kept.into_iter().map(record).collect::<Option<Vec<_>>>().ok_or(StoreError::Failed)?;
    let reservation_type = reservation_type.map(ReservationType::number);
    let stored = control.store_reservations(ObjectId(volume.0), registrations, reservation_type).await;
    stored.map_err(|error| match error {
        ControlError::Pool(PoolRefusal::NoSpace { .. } | PoolRefusal::BelowFull) => StoreError::NoRoom,
        error => {
            let volume = control.directory().volume_of(ObjectId(volume.0)).map(|record| record.name.clone());
            tracing::error!(volume, %error, "persistent reservations could not be stored; the host got a hardware error");
            StoreError::Failed
        }
    })
}
