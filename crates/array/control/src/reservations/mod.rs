//! Registrations and reservations of volumes, with names of the objects. `store.rs` stores those
//! that survive a power loss.

mod record;
mod store;

pub use record::{RegistrationRecord, ReservationsRecord};

use crate::{ControlError, Directory, Facts, Read, Registration, Reservations, VolumeRecord};

/// Lists the registrations and reservations of all volumes that have any, by name.
#[derive(Clone, Debug, Default)]
pub struct ReservationList {
    /// Only this volume, even if it has none; name or id.
    pub volume: Option<String>,
}

/// Shows the registrations and reservation of one volume.
#[derive(Clone, Debug)]
pub struct ReservationShow {
    /// Name or id.
    pub volume: String,
}

/// Registrations and reservation of a volume, with names.
#[derive(Clone, Debug)]
pub struct ReservationsView {
    /// Name of the volume.
    pub volume: String,
    /// State in the running target.
    pub reservations: Reservations,
    /// Its registrations with names.
    pub registrations: Vec<RegistrationView>,
    /// Initiator with a RESERVE (6) reservation.
    pub reserved_by: Option<RegistrationView>,
}

/// Registration with names.
#[derive(Clone, Debug)]
pub struct RegistrationView {
    /// State in the running target.
    pub registration: Registration,
    /// Host; absent for an unknown initiator.
    pub host: Option<String>,
    /// Group of the target port; absent if the port is no longer configured.
    pub group: Option<u16>,
}

impl Read for ReservationList {
    type Reply = Vec<ReservationsView>;
    const NAME: &'static str = "reservation-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<ReservationsView>, ControlError> {
        let directory = facts.directory();
        let volumes: Vec<&VolumeRecord> = match &self.volume {
            Some(name) => vec![directory.volume(name)?],
            None => directory.volumes_by_name().collect(),
        };
        let views = volumes.into_iter().map(|record| view(record, directory, facts.unit(record.object).reservations));
        let has_any = |view: &ReservationsView| !view.registrations.is_empty() || view.reserved_by.is_some();
        Ok(views.filter(|view| self.volume.is_some() || has_any(view)).collect())
    }
}

impl Read for ReservationShow {
    type Reply = ReservationsView;
    const NAME: &'static str = "reservation-show";

    fn answer(&self, facts: &dyn Facts) -> Result<ReservationsView, ControlError> {
        let record = facts.directory().volume(&self.volume)?;
        Ok(view(record, facts.directory(), facts.unit(record.object).reservations))
    }
}

/// View of a volume's reservations with names.
fn view(record: &VolumeRecord, directory: &Directory, reservations: Reservations) -> ReservationsView {
    let named = |registration: &Registration| RegistrationView {
        host: directory.host_of(&registration.initiator).map(|host| host.name.clone()),
        group: directory.has_port(registration.target_port).then(|| directory.group_of(registration.target_port)),
        registration: registration.clone(),
    };
    ReservationsView {
        volume: record.name.clone(),
        registrations: reservations.registrations.iter().map(named).collect(),
        reserved_by: reservations.reserved_by.as_ref().map(named),
        reservations,
    }
}
