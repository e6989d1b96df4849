//! Registrations and reservation of one volume between two commands.

use crate::registrant::Registrant;
use crate::reservation_type::ReservationType;
use crate::store::{PersistedRegistration, PersistedReservations};
use std::collections::BTreeMap;

/// Role of a client under a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Holds the reservation.
    Holder,
    /// Registered, but does not hold the reservation.
    Registrant,
    /// Not registered.
    Unregistered,
}

/// The reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Its type.
    pub kind: ReservationType,
    /// Registrant that created it. Without meaning for the all registrants types, where every
    /// registrant is a holder.
    pub holder: Registrant,
}

/// Registrations and reservation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Reservation keys, none of them 0.
    pub keys: BTreeMap<Registrant, u64>,
    /// Reservation; its holder is registered (all registrants types: at least one registrant
    /// exists).
    pub reservation: Option<Reservation>,
    /// The last registration asked that the state survives a power loss.
    pub persists: bool,
    /// Number of changes of the registrations. Starts at 0 at every start (SPC-4 §5.9).
    pub generation: u32,
}

impl State {
    /// Key of a registrant; `None` if it is not registered.
    pub fn key(&self, registrant: &Registrant) -> Option<u64> {
        self.keys.get(registrant).copied()
    }

    /// Whether the registrant holds the reservation.
    pub fn holds(&self, registrant: &Registrant) -> bool {
        match &self.reservation {
            Some(reservation) if reservation.kind.is_all_registrants() => self.keys.contains_key(registrant),
            Some(reservation) => reservation.holder == *registrant,
            None => false,
        }
    }

    /// Role of a registrant.
    pub fn role(&self, registrant: &Registrant) -> Role {
        if self.holds(registrant) {
            Role::Holder
        } else if self.keys.contains_key(registrant) {
            Role::Registrant
        } else {
            Role::Unregistered
        }
    }

    /// State that has to survive a power loss; `None` for nothing.
    pub fn to_persist(&self) -> Option<PersistedReservations> {
        if !self.persists || self.keys.is_empty() {
            return None;
        }
        let holder = self.reservation.as_ref().map(|reservation| &reservation.holder);
        let registrations = self.keys.iter().map(|(registrant, key)| PersistedRegistration {
            registrant: registrant.clone(),
            key: *key,
            holder: holder == Some(registrant),
        });
        Some(PersistedReservations {
            registrations: registrations.collect(),
            reservation_type: self.reservation.as_ref().map(|reservation| reservation.kind),
        })
    }

    /// Restores a stored state; `None` when it is inconsistent.
    pub fn restored(persisted: &PersistedReservations) -> Option<Self> {
        let mut state = Self { persists: true, ..Self::default() };
        let mut holder = None;
        for registration in &persisted.registrations {
            let registrant = registration.registrant.clone();
            if registration.holder {
                holder = Some(registrant.clone());
            }
            if registration.key == 0 || state.keys.insert(registrant, registration.key).is_some() {
                return None;
            }
        }
        if let Some(kind) = persisted.reservation_type {
            let any = if kind.is_all_registrants() { state.keys.keys().next().cloned() } else { None };
            state.reservation = Some(Reservation { kind, holder: holder.or(any)? });
        }
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn registrant(name: &str) -> Registrant {
        Registrant { target_port: 1, name: name.to_owned(), instance: 1 }
    }

    #[test]
    fn a_kept_state_comes_back() {
        let (a, b) = (registrant("a"), registrant("b"));
        let mut state = State { persists: true, ..State::default() };
        assert_eq!(state.to_persist(), None);
        state.keys = [(a.clone(), 1), (b.clone(), 2)].into();
        for kind in ReservationType::ALL {
            state.reservation = Some(Reservation { kind, holder: b.clone() });
            let restored = State::restored(&state.to_persist().unwrap()).unwrap();
            assert_eq!(restored, state);
            assert_eq!(restored.role(&b), Role::Holder);
            let other = if kind.is_all_registrants() { Role::Holder } else { Role::Registrant };
            assert_eq!(restored.role(&a), other);
        }
        state.persists = false;
        assert_eq!(state.to_persist(), None);
    }

    #[test]
    fn contradictions_are_not_restored() {
        use ReservationType::{ExclusiveAccessAllRegistrants, WriteExclusive, WriteExclusiveAllRegistrants};
        let registration = PersistedRegistration { registrant: registrant("a"), key: 1, holder: false };
        let with = |registrations: Vec<PersistedRegistration>, reservation_type| {
            State::restored(&PersistedReservations { registrations, reservation_type })
        };
        assert!(with(vec![registration.clone()], None).is_some());
        assert!(with(vec![registration.clone()], Some(WriteExclusiveAllRegistrants)).is_some());
        assert!(with(vec![registration.clone()], Some(WriteExclusive)).is_none(), "without a holder");
        assert!(with(vec![], Some(ExclusiveAccessAllRegistrants)).is_none());
        assert!(with(vec![registration.clone(), registration.clone()], None).is_none(), "twice");
        assert!(with(vec![PersistedRegistration { key: 0, ..registration }], None).is_none());
    }
}
