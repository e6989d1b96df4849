//! Registrations and reservations of a volume, for display.

use super::Reservations;
use crate::registrant::Registrant;
use crate::reservation_type::ReservationType;
use crate::working_memory::ClientId;

/// Registrations and reservations of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationReport {
    /// Registrations, whether their owners are connected or not.
    pub registrations: Vec<RegistrationInfo>,
    /// Type of the reservation of a registrant; `None` when there is none.
    pub reservation_type: Option<ReservationType>,
    /// Registrations and reservation survive a power loss.
    pub persists: bool,
    /// Number of changes of the registrations since the start.
    pub generation: u32,
    /// Client that has reserved the whole unit, which excludes a reservation of a registrant.
    pub reserved_by: Option<ClientId>,
    /// Commands refused because of a reservation since the start.
    pub conflicts: u64,
}

/// A registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationInfo {
    /// Owner.
    pub registrant: Registrant,
    /// Reservation key.
    pub key: u64,
    /// Whether it holds the reservation.
    pub holder: bool,
}

impl Reservations {
    pub(crate) fn report(&self, conflicts: u64) -> ReservationReport {
        let state = self.state();
        let registration = |(registrant, key): (&Registrant, &u64)| RegistrationInfo {
            registrant: registrant.clone(),
            key: *key,
            holder: state.holds(registrant),
        };
        ReservationReport {
            registrations: state.keys.iter().map(registration).collect(),
            reservation_type: state.reservation.as_ref().map(|reservation| reservation.kind),
            persists: state.persists,
            generation: state.generation,
            reserved_by: self.whole(),
            conflicts,
        }
    }
}
