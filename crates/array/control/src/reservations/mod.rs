//! Registrations and reservations of volumes, with names for the objects. What survives a loss of power is in `store.rs`.

mod store;

use crate::{Control, ControlError, Directory, Registration, Request, Reservations, VolumeRecord};

/// Registrations and reservations of all volumes that have any, by name.
#[derive(Clone, Debug, Default)]
pub struct ReservationList {
    /// Only this volume, also when it has none; name or id.
    pub volume: Option<String>,
}

/// Registrations and reservation of one volume.
#[derive(Clone, Debug)]
pub struct ReservationShow {
    /// Name or id.
    pub volume: String,
}

/// Registrations and reservation of a volume.
#[derive(Clone, Debug)]
pub struct ReservationsView {
    /// The volume's name.
    pub volume: String,
    /// As the running target has them.
    pub reservations: Reservations,
    /// Its registrations, with names.
    pub registrations: Vec<RegistrationView>,
    /// The initiator that has reserved it by RESERVE (6).
    pub reserved_by: Option<RegistrationView>,
}

/// A registration.
#[derive(Clone, Debug)]
pub struct RegistrationView {
    /// As the running target has it.
    pub registration: Registration,
    /// The host; absent for an unknown initiator.
    pub host: Option<String>,
    /// The target port's group; absent when the port is not configured any more.
    pub group: Option<u16>,
}

impl Request for ReservationList {
    type Reply = Vec<ReservationsView>;
    const NAME: &'static str = "reservation-list";

    async fn run(&self, control: &Control) -> Result<Vec<ReservationsView>, ControlError> {
        let directory = control.directory();
        let mut volumes: Vec<&VolumeRecord> = match &self.volume {
            Some(name) => vec![directory.volume(name)?],
            None => directory.volumes().collect(),
        };
        volumes.sort_by(|one, other| one.name.cmp(&other.name));
        let views =
            volumes.into_iter().map(|record| view(record, &directory, control.live.reservations(record.object)));
        let has_any = |view: &ReservationsView| !view.registrations.is_empty() || view.reserved_by.is_some();
        Ok(views.filter(|view| self.volume.is_some() || has_any(view)).collect())
    }
}

impl Request for ReservationShow {
    type Reply = ReservationsView;
    const NAME: &'static str = "reservation-show";

    async fn run(&self, control: &Control) -> Result<ReservationsView, ControlError> {
        let directory = control.directory();
        let record = directory.volume(&self.volume)?;
        Ok(view(record, &directory, control.live.reservations(record.object)))
    }
}

/// What the running target has of a volume, with names.
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
