//! Documents of persistent reservations.

use crate::record::Document;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Reservations of a volume that survive a power loss, of clients of any protocol: in SCSI those
/// with APTPL (SPC-4 §5.9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReservationsRecord {
    /// The volume.
    pub volume: Uuid,
    /// Registrations, at least one.
    pub registrations: Vec<RegistrationRecord>,
    /// Number of the type, as [`unit::ReservationType::number`]; absent if there is no reservation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation_type: Option<u8>,
}

impl Document for ReservationsRecord {
    const PREFIX: &'static str = "reservations/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.volume)
    }
}

/// A registration. Its fields have names of SCSI in the document, whose first versions knew no other
/// protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistrationRecord {
    /// Text of a [`unit::Registrant`] without its port, in the form of its protocol: of an iSCSI
    /// initiator port, `NAME,i,0xISID`. Each protocol recognizes its own.
    #[serde(rename = "initiator_port")]
    pub registrant: String,
    /// Relative target port identifier; 0 if the registration holds at every port.
    #[serde(rename = "relative_target_port")]
    pub target_port: u16,
    /// Reservation key.
    pub key: u64,
    /// True if it holds the reservation. With the all registrants types every registration does,
    /// and this need not be set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holder: bool,
}
