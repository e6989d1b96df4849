//! Registrations and reservations of volumes, with names of the objects. `store.rs` stores those
//! that survive a power loss.

mod clear;
mod record;
mod store;

pub use clear::ReservationClear;
pub use record::{RegistrationRecord, ReservationsRecord};

use crate::directory::Directory;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::live::{Registration, Reservations};
use crate::page::{Column, Listed, column};
use crate::read::Read;
use crate::volumes::record::VolumeRecord;
use unit::ReservationType;

/// Lists the registrations and reservations of all volumes, by volume and initiator.
#[derive(Clone, Debug, Default)]
pub struct ReservationList {
    /// Only this volume; name or id.
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

/// Registration of an initiator with a volume, or its RESERVE (6) reservation.
#[derive(Clone, Debug)]
pub struct ReservationView {
    /// Name of the volume.
    pub volume: String,
    /// Initiator and key.
    pub registration: RegistrationView,
    /// Type of the volume's persistent reservation, if this initiator holds it.
    pub reservation_type: Option<ReservationType>,
    /// True for a RESERVE (6) reservation, which has no key.
    pub is_reserve: bool,
}

impl Read for ReservationList {
    type Reply = Vec<ReservationView>;
    const NAME: &'static str = "reservation-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<ReservationView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for ReservationList {
    type View = ReservationView;
    type Row = ReservationView;
    const COLUMNS: &'static [Column<ReservationView>] = &[
        column("volume", |_, row| row.volume.as_str().into()),
        column("host", |_, row| row.registration.host.as_deref().into()),
        column("initiator", |_, row| row.registration.registration.initiator.as_str().into()),
    ];

    /// Keys sort by volume, then registrations by initiator port and target port, then RESERVE.
    /// Names of volumes and initiators contain no space.
    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, ReservationView)>, ControlError> {
        let directory = facts.directory();
        let volumes: Vec<&VolumeRecord> = match &self.volume {
            Some(name) => vec![directory.volume(name)?],
            None => directory.volumes_by_name().collect(),
        };
        let mut rows = Vec::new();
        for record in volumes {
            rows.extend(view(record, directory, facts.unit(record.object).reservations).rows().map(|row| {
                let Registration { initiator, isid, target_port, .. } = &row.registration.registration;
                let reserve = u8::from(row.is_reserve);
                (format!("{} {reserve} {initiator} {isid:012x} {target_port:05}", row.volume), row)
            }));
        }
        rows.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(rows)
    }

    fn texts(_facts: &dyn Facts, row: &ReservationView) -> Vec<String> {
        let texts = [row.volume.clone(), row.registration.registration.initiator.clone()];
        texts.into_iter().chain(row.registration.host.clone()).collect()
    }

    fn views(&self, _facts: &dyn Facts, rows: Vec<ReservationView>) -> Vec<ReservationView> {
        rows
    }
}

impl ReservationsView {
    /// All registrations and reservations of the volume.
    pub fn rows(self) -> impl Iterator<Item = ReservationView> {
        let Self { volume, reservations, registrations, reserved_by } = self;
        let reserved = reserved_by.map(|registration| ReservationView {
            volume: volume.clone(),
            registration,
            reservation_type: None,
            is_reserve: true,
        });
        let registered = registrations.into_iter().map(move |registration| ReservationView {
            volume: volume.clone(),
            reservation_type: reservations.reservation_type.filter(|_| registration.registration.holder),
            registration,
            is_reserve: false,
        });
        registered.chain(reserved)
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
