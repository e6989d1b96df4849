//! Holder of a reservation, for the log of commands that it refused.

use super::{Reservations, State};
use crate::reservation_type::ReservationType;
use crate::working_memory::ClientId;
use block::VolumeId;

/// Holder of the present reservation, as the unit knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Client that has reserved a whole unit; its protocol knows its name.
    Client(VolumeId, ClientId),
    /// Holder of a reservation of registrants.
    Registrant(ReservationHolder),
}

/// Holder of a reservation by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReservationHolder {
    /// Reserved volume: of a copy, source or destination.
    pub volume: VolumeId,
    /// Name of the initiator. Of a reservation that all registrants hold, that of one of them.
    pub initiator: String,
    /// Type of the reservation, and key of the initiator; `None` for a reservation of the whole unit.
    pub registration: Option<(ReservationType, u64)>,
}

impl Reservations {
    /// Holder of the present reservation, which is of this volume; `None` without one.
    pub fn holder(&self, volume: VolumeId) -> Option<Holder> {
        match self.whole() {
            Some(client) => Some(Holder::Client(volume, client)),
            None => self.state().holder(volume).map(Holder::Registrant),
        }
    }
}

impl State {
    fn holder(&self, volume: VolumeId) -> Option<ReservationHolder> {
        let reservation = self.reservation.as_ref()?;
        let (registrant, key) = if reservation.kind.is_all_registrants() {
            self.keys.first_key_value()?
        } else {
            self.keys.get_key_value(&reservation.holder)?
        };
        let registration = Some((reservation.kind, *key));
        Some(ReservationHolder { volume, initiator: registrant.name.clone(), registration })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registrant::Registrant;
    use crate::reservations::Reservation;

    const VOLUME: VolumeId = VolumeId(3);

    #[test]
    fn the_holder_has_a_name_and_a_key() {
        let reservations = Reservations::default();
        assert_eq!(reservations.holder(VOLUME), None);
        let registrant = |name: &str| Registrant { target_port: 1, name: name.to_owned(), instance: 1 };
        for (kind, name, key) in
            [(ReservationType::WriteExclusive, "b", 2), (ReservationType::WriteExclusiveAllRegistrants, "a", 1)]
        {
            let reservation = Reservation { kind, holder: registrant("b") };
            let keys = [(registrant("a"), 1), (registrant("b"), 2)].into();
            reservations.set_state(State { keys, reservation: Some(reservation), ..State::default() });
            let named =
                ReservationHolder { volume: VOLUME, initiator: name.to_owned(), registration: Some((kind, key)) };
            assert_eq!(reservations.holder(VOLUME), Some(Holder::Registrant(named)));
        }
        let client = ClientId { protocol: "A", number: 7 };
        reservations.set_whole(Some(client));
        assert_eq!(
            reservations.holder(VOLUME),
            Some(Holder::Client(VOLUME, client)),
            "it is older, and excludes every registrant"
        );
    }
}
