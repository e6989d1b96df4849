//! Registrations and reservations of volumes, with names for the objects. What is kept of them over a loss of power is `reservations.rs`.

use crate::{Control, ControlError, Registration, RegistrationView, Reservations, ReservationsView, VolumeRecord};
use pool::Catalog;

impl<C: Catalog + 'static> Control<C> {
    /// Volumes that have registrations or are reserved, by name; with a name, that volume in any case.
    pub(crate) fn reservation_list(&self, volume: Option<&str>) -> Result<Vec<ReservationsView>, ControlError> {
        let directory = self.directory();
        let mut volumes: Vec<&VolumeRecord> = match volume {
            Some(name) => vec![directory.volume(name)?],
            None => directory.volumes().collect(),
        };
        volumes.sort_by(|one, other| one.name.cmp(&other.name));
        let views = volumes.into_iter().map(|record| {
            let reservations = self.live.reservations(record.object);
            let view = |registration: &Registration| RegistrationView {
                host: directory.host_of(&registration.initiator).map(|host| host.name.clone()),
                group: directory
                    .has_port(registration.target_port)
                    .then(|| directory.group_of(registration.target_port)),
                registration: registration.clone(),
            };
            ReservationsView {
                volume: record.name.clone(),
                registrations: reservations.registrations.iter().map(view).collect(),
                reserved_by: reservations.reserved_by.as_ref().map(view),
                reservations,
            }
        });
        let is_of_interest = |view: &ReservationsView| {
            let Reservations { registrations, reserved_by, .. } = &view.reservations;
            volume.is_some() || !registrations.is_empty() || reserved_by.is_some()
        };
        Ok(views.filter(is_of_interest).collect())
    }
}
