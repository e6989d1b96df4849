//! Holder of a reservation, for the log of commands that it refused.

use super::{Reservations, State};
use crate::reservation_type::ReservationType;
use crate::working_memory::ClientId;

/// Holder of the present reservation, as the unit knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Client that has reserved the whole unit; its protocol knows its name.
    Client(ClientId),
    /// Holder of a reservation of registrants.
    Registrant(ReservationHolder),
}

/// Holder of a reservation by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationHolder {
    /// Name of the initiator. Of a reservation that all registrants hold, that of one of them.
    pub initiator: String,
    /// Type of the reservation, and key of the initiator; `None` for a reservation of the whole unit.
    pub registration: Option<(ReservationType, u64)>,
}

impl Reservations {
    /// Holder of the present reservation; `None` without one.
    pub fn holder(&self) -> Option<Holder> {
        match self.whole() {
            Some(client) => Some(Holder::Client(client)),
            None => self.state().holder().map(Holder::Registrant),
        }
    }
}

impl State {
    fn holder(&self) -> Option<ReservationHolder> {
        let reservation = self.reservation.as_ref()?;
        let (registrant, key) = if reservation.kind.is_all_registrants() {
            self.keys.first_key_value()?
        } else {
            self.keys.get_key_value(&reservation.holder)?
        };
        Some(ReservationHolder { initiator: registrant.name.clone(), registration: Some((reservation.kind, *key)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registrant::Registrant;
    use crate::reservations::Reservation;

    #[test]
    fn the_holder_has_a_name_and_a_key() {
        let reservations = Reservations::default();
        assert_eq!(reservations.holder(), None);
        let registrant = |name: &str| Registrant { target_port: 1, name: name.to_owned(), instance: 1 };
        for (kind, name, key) in
            [(ReservationType::WriteExclusive, "b", 2), (ReservationType::WriteExclusiveAllRegistrants, "a", 1)]
        {
            let reservation = Reservation { kind, holder: registrant("b") };
            let keys = [(registrant("a"), 1), (registrant("b"), 2)].into();
            reservations.set_state(State { keys, reservation: Some(reservation), ..State::default() });
            let named = ReservationHolder { initiator: name.to_owned(), registration: Some((kind, key)) };
            assert_eq!(reservations.holder(), Some(Holder::Registrant(named)));
        }
        let client = ClientId { protocol: "A", number: 7 };
        reservations.set_whole(Some(client));
        assert_eq!(reservations.holder(), Some(Holder::Client(client)), "it is older, and excludes every registrant");
    }
}
