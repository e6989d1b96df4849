//! Classes of commands against reservations, and the classes that a reservation permits: the tables of SPC-4 §5.9
//! and SBC-3.

use super::Role;
use crate::reservation_type::ReservationType;

/// Class of a command against reservations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservationClass {
    /// Never conflicts.
    Always,
    /// Conflicts only with a reservation of the whole unit by another client (RESERVE of SPC-2).
    Condition,
    /// Reports the capabilities of the server: conflicts like [`Self::Control`], but not with
    /// RESERVE.
    Capability,
    /// Changes or reports reservations: conflicts with every RESERVE, even the sender's own, and
    /// has rules of its own against registrations.
    Reservation,
    /// Reads the medium.
    Read,
    /// Reads or changes the behaviour of the unit.
    Control,
    /// Changes the medium or what other clients see. A reservation waits until commands of this
    /// class that have started have ended.
    Write,
}

impl ReservationClass {
    /// Whether the command conflicts with a RESERVE (SPC-2 §5.5.1); `own`: the sender holds it.
    pub const fn conflicts_with_reserve(self, own: bool) -> bool {
        match self {
            Self::Always | Self::Capability => false,
            Self::Reservation => true,
            Self::Condition | Self::Read | Self::Control | Self::Write => !own,
        }
    }

    /// Whether a client in this role may execute the command under a reservation of this type.
    pub const fn permits(self, kind: ReservationType, role: Role) -> bool {
        let let_in = match role {
            Role::Holder => true,
            Role::Registrant => kind.admits_registrants(),
            Role::Unregistered => false,
        };
        match self {
            Self::Always | Self::Condition | Self::Reservation => true,
            Self::Read => let_in || !kind.is_exclusive_access(),
            Self::Capability | Self::Control | Self::Write => let_in,
        }
    }
}
