//! Registrations and reservation of one logical unit, as they are between two commands.

use super::Role;
use super::durable::{PersistedReservation, PersistedReservations};
use scsi::persistent_reservation::{InitiatorPort, ReservationType};
use std::collections::BTreeMap;

/// An I_T nexus by name: what a registration belongs to. It outlives sessions (SPC-4 §5.9).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NexusName {
    pub relative_target_port: u16,
    pub initiator_port: InitiatorPort,
}

/// The reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub kind: ReservationType,
    /// Who made it; for the all registrants types every registered nexus is a holder, and this says nothing.
    pub holder: NexusName,
}

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Reservation keys, none of them 0.
    pub keys: BTreeMap<NexusName, u64>,
    /// Its holder is registered; for the all registrants types somebody is.
    pub reservation: Option<Reservation>,
    /// APTPL of the last registration.
    pub persists: bool,
    /// PRGENERATION. Begins at 0 with every start (SPC-4 §5.9).
    pub generation: u32,
}

impl State {
    /// The key of an I_T nexus; `None` when it is not registered.
    pub fn key(&self, nexus: &NexusName) -> Option<u64> {
        self.keys.get(nexus).copied()
    }

    /// Whether the nexus holds the reservation.
    pub fn holds(&self, nexus: &NexusName) -> bool {
        match &self.reservation {
            Some(reservation) if reservation.kind.is_all_registrants() => self.keys.contains_key(nexus),
            Some(reservation) => reservation.holder == *nexus,
            None => false,
        }
    }

    pub fn role(&self, nexus: &NexusName) -> Role {
        if self.holds(nexus) {
            Role::Holder
        } else if self.keys.contains_key(nexus) {
            Role::Registrant
        } else {
            Role::Unregistered
        }
    }

    /// What has to be there after a loss of power; `None` for nothing.
    pub fn to_persist(&self) -> Option<PersistedReservations> {
        if !self.persists || self.keys.is_empty() {
            return None;
        }
        let holder = self.reservation.as_ref().map(|reservation| &reservation.holder);
        let registrations = self.keys.iter().map(|(nexus, key)| PersistedReservation {
            initiator_port: nexus.initiator_port.to_string(),
            relative_target_port: nexus.relative_target_port,
            key: *key,
            holder: holder == Some(nexus),
        });
        Some(PersistedReservations {
            registrations: registrations.collect(),
            reservation_type: self.reservation.as_ref().map(|reservation| reservation.kind.number()),
        })
    }

    /// The state that was kept; `None` when it contradicts itself.
    pub fn restored(persisted: &PersistedReservations) -> Option<Self> {
        let mut state = Self { persists: true, ..Self::default() };
        let mut holder = None;
        for registration in &persisted.registrations {
            let name = NexusName {
                relative_target_port: registration.relative_target_port,
                initiator_port: InitiatorPort::parse(&registration.initiator_port)?,
            };
            if registration.holder {
                holder = Some(name.clone());
            }
            if registration.key == 0 || state.keys.insert(name, registration.key).is_some() {
                return None;
            }
        }
        if let Some(number) = persisted.reservation_type {
            let kind = ReservationType::from_number(number)?;
            let anybody = if kind.is_all_registrants() { state.keys.keys().next().cloned() } else { None };
            state.reservation = Some(Reservation { kind, holder: holder.or(anybody)? });
        }
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn name(text: &str) -> NexusName {
        NexusName { relative_target_port: 1, initiator_port: InitiatorPort::parse(text).unwrap() }
    }

    #[test]
    fn what_is_kept_comes_back() {
        let (a, b) = (name("a,i,0x1"), name("b,i,0x1"));
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
        let registration =
            PersistedReservation { initiator_port: "a,i,0x1".into(), relative_target_port: 1, key: 1, holder: false };
        let with = |registrations: Vec<PersistedReservation>, reservation_type| {
            State::restored(&PersistedReservations { registrations, reservation_type })
        };
        assert!(with(vec![registration.clone()], None).is_some());
        assert!(with(vec![registration.clone()], Some(7)).is_some());
        assert!(with(vec![registration.clone()], Some(1)).is_none(), "nobody holds it");
        assert!(with(vec![registration.clone()], Some(2)).is_none(), "no such type");
        assert!(with(vec![], Some(7)).is_none());
        assert!(with(vec![registration.clone(), registration.clone()], None).is_none(), "twice");
        assert!(with(vec![PersistedReservation { key: 0, ..registration.clone() }], None).is_none());
        assert!(with(vec![PersistedReservation { initiator_port: "a".into(), ..registration }], None).is_none());
    }
}
