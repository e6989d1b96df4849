//! Reservations: the initiators that are registered with a volume, and the holder of its
//! reservation.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Filter of the list of registrations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReservationFilter {
    /// Only this volume, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
}

/// An I_T nexus that is registered with a volume (PERSISTENT RESERVE OUT, SPC-4 §5.9), or has
/// reserved it (RESERVE, SPC-2 §7.21).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Registration {
    /// Name of the volume.
    pub volume: String,
    /// Name of the initiator.
    pub initiator: String,
    /// ISID of the initiator port, 12 hexadecimal digits.
    pub isid: String,
    /// Host of the initiator, if it is known.
    pub host: Option<String>,
    /// Number of the portal (relative target port identifier), as in the list of portals.
    pub portal_id: u16,
    /// Target port group of the portal; `null` if the portal no longer exists.
    pub group: Option<u16>,
    /// Reservation key, `0x` and 16 hexadecimal digits; `null` for RESERVE, which has none.
    pub key: Option<String>,
    /// True if this nexus holds the reservation.
    pub holder: bool,
    /// Type of the reservation that this nexus holds.
    pub reservation_type: Option<ReservationType>,
}

/// Registrations and reservation of a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reservations {
    /// Name of the volume.
    pub volume: String,
    /// Type of the reservation; `null` if the volume is not reserved.
    pub reservation_type: Option<ReservationType>,
    /// PRGENERATION: number of changes to the registrations since the start of the array.
    pub generation: u32,
    /// APTPL: registrations and reservation survive a restart.
    pub persistent: bool,
    /// Commands refused with RESERVATION CONFLICT since the start of the array.
    pub conflicts: u64,
    /// Registered nexuses; with type `reserve`, the nexus that holds the reservation.
    pub registrations: Vec<Registration>,
}

/// Type of a reservation: which nexuses may access the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReservationType {
    /// RESERVE (6): only the holder reads or writes.
    Reserve,
    /// Only the holder writes.
    WriteExclusive,
    /// Only the holder reads or writes.
    ExclusiveAccess,
    /// Only registered nexuses write.
    WriteExclusiveRegistrantsOnly,
    /// Only registered nexuses read or write.
    ExclusiveAccessRegistrantsOnly,
    /// Only registered nexuses write, and all of them are holders.
    WriteExclusiveAllRegistrants,
    /// Only registered nexuses read or write, and all of them are holders.
    ExclusiveAccessAllRegistrants,
}

impl ReservationType {
    /// Name of the type in the REST interface, the command line and the metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Reserve => "reserve",
            Self::WriteExclusive => "write-exclusive",
            Self::ExclusiveAccess => "exclusive-access",
            Self::WriteExclusiveRegistrantsOnly => "write-exclusive-registrants-only",
            Self::ExclusiveAccessRegistrantsOnly => "exclusive-access-registrants-only",
            Self::WriteExclusiveAllRegistrants => "write-exclusive-all-registrants",
            Self::ExclusiveAccessAllRegistrants => "exclusive-access-all-registrants",
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::ReservationType;

    #[test]
    fn the_word_is_what_is_sent() {
        for kind in [
            ReservationType::Reserve,
            ReservationType::WriteExclusive,
            ReservationType::ExclusiveAccess,
            ReservationType::WriteExclusiveRegistrantsOnly,
            ReservationType::ExclusiveAccessRegistrantsOnly,
            ReservationType::WriteExclusiveAllRegistrants,
            ReservationType::ExclusiveAccessAllRegistrants,
        ] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
        }
    }
}
