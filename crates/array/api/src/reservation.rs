//! Reservations: which initiators have registered with a volume, and who has reserved it.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Which volumes to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReservationQuery {
    /// Only this volume, by name or id.
    pub volume: Option<String>,
}

/// An I_T nexus that is registered with a volume (PERSISTENT RESERVE OUT, SPC-4 §5.9), or has reserved it (RESERVE, SPC-2 §7.21).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Registration {
    /// The volume's name.
    pub volume: String,
    /// The initiator's name.
    pub initiator: String,
    /// ISID of the initiator port, 12 hexadecimal digits.
    pub isid: String,
    /// The host it belongs to, when it is known.
    pub host: Option<String>,
    /// The portal: number (relative target port identifier), as in the list of portals.
    pub portal_id: u16,
    /// The portal's target port group; `null` when the portal is not there any more.
    pub group: Option<u16>,
    /// Reservation key, `0x` and 16 hexadecimal digits; `null` for RESERVE, which has none.
    pub key: Option<String>,
    /// It holds the reservation.
    pub holder: bool,
    /// Type of the reservation that it holds.
    pub reservation_type: Option<ReservationType>,
}

/// Registrations and reservation of a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reservations {
    /// The volume's name.
    pub volume: String,
    /// Type of the reservation; `null` when the volume is not reserved.
    pub reservation_type: Option<ReservationType>,
    /// PRGENERATION: changes of the registrations since the start.
    pub generation: u32,
    /// APTPL: registrations and reservation outlive a restart.
    pub persistent: bool,
    /// Commands refused with RESERVATION CONFLICT since the start.
    pub conflicts: u64,
    /// Who is registered; with type `reserve`, who has reserved it.
    pub registrations: Vec<Registration>,
}

/// Whom a reservation keeps from what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReservationType {
    /// RESERVE (6): only the holder reads or writes.
    Reserve,
    /// Only the holder writes.
    WriteExclusive,
    /// Only the holder reads or writes.
    ExclusiveAccess,
    /// Only who is registered writes.
    WriteExclusiveRegistrantsOnly,
    /// Only who is registered reads or writes.
    ExclusiveAccessRegistrantsOnly,
    /// Only who is registered writes, and all of them are holders.
    WriteExclusiveAllRegistrants,
    /// Only who is registered reads or writes, and all of them are holders.
    ExclusiveAccessAllRegistrants,
}

impl ReservationType {
    /// The word for it on every surface.
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
