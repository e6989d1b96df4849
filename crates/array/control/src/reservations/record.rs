//! Documents of persistent reservations.

use crate::record::Document;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Persistent reservations of a volume that survive a power loss (APTPL, SPC-4 §5.9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReservationsRecord {
    /// The volume.
    pub volume: Uuid,
    /// Registrations, at least one.
    pub registrations: Vec<RegistrationRecord>,
    /// TYPE of the reservation (SPC-4 §6.15.3.4); absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_type: Option<u8>,
}

impl Document for ReservationsRecord {
    const PREFIX: &'static str = "reservations/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.volume)
    }
}

/// A registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistrationRecord {
    /// Initiator port: name and ISID, `NAME,i,0xISID`.
    pub initiator_port: String,
    /// Relative target port identifier.
    pub relative_target_port: u16,
    /// Reservation key.
    pub key: u64,
    /// True if it holds the reservation. With the all registrants types every registration does,
    /// and this need not be set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holder: bool,
}
