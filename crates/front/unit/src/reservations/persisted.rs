//! Registrations and reservation as they are kept over a loss of power.

use super::{Registrant, ReservationType};

/// Registrations and reservation of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistedReservations {
    /// At least one.
    pub registrations: Vec<PersistedRegistration>,
    /// Type of the reservation; `None` without one.
    pub reservation_type: Option<ReservationType>,
}

/// A registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistedRegistration {
    /// The registrant.
    pub registrant: Registrant,
    /// Reservation key, not 0.
    pub key: u64,
    /// It holds the reservation. Not set for the all registrants types, which every registrant holds.
    pub holder: bool,
}
