//! Stored form of registrations and reservation, which survives a power loss.

use crate::registrant::Registrant;
use crate::reservation_type::ReservationType;

/// Registrations and reservation of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistedReservations {
    /// Registrations; at least one.
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
    /// Whether it holds the reservation. False for the all registrants types, which every
    /// registrant holds.
    pub holder: bool,
}
