//! Changes of registrations and reservation while they are computed: the actions of every protocol
//! (SPC-4 §5.9, NVM Command Set "Reservations"), and the initiators to notify.

use super::{Reservation, State};
use crate::registrant::Registrant;
use crate::reservation_type::ReservationType;

/// Reason why an action was refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The actor is not registered with the given key, does not hold the reservation, or another
    /// reservation exists.
    Conflict,
    /// The limit of registrations is reached.
    NoRoom,
    /// Key 0 names no registrant here.
    NoKey,
    /// A reservation type is required, but none or another one was given.
    WrongType,
}

/// Event of which a registrant has to be notified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Another registrant removed its registration.
    RegistrationPreempted,
    /// The reservation and all registrations were removed.
    ReservationPreempted,
    /// A reservation that gave it rights was released, or changed its type.
    ReservationReleased,
}

impl State {
    /// State without a reservation and without registrations, and what all registrants learn of it.
    pub fn cleared(&self) -> (Self, Vec<(Registrant, Notice)>) {
        let notices = self.keys.keys().map(|registrant| (registrant.clone(), Notice::ReservationPreempted)).collect();
        (Self { generation: self.generation.wrapping_add(1), ..Self::default() }, notices)
    }
}

/// Change that has not taken effect.
#[derive(Debug)]
pub struct Transition<'a> {
    actor: &'a Registrant,
    state: State,
    notices: Vec<(Registrant, Notice)>,
    preempted: Vec<Registrant>,
    /// Most registrations of a volume.
    limit: usize,
}

impl<'a> Transition<'a> {
    /// Starts a change by `actor`. `limit`: most registrations of a volume.
    pub fn new(state: &State, actor: &'a Registrant, limit: usize) -> Self {
        Self { actor, state: state.clone(), notices: Vec::new(), preempted: Vec::new(), limit }
    }

    /// Registrant that requested the change.
    pub fn actor(&self) -> &'a Registrant {
        self.actor
    }

    /// State after the change.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Splits the change into the new state, the notices (never for the actor), and the other
    /// registrants whose registrations the actor has removed.
    pub fn into_parts(self) -> (State, Vec<(Registrant, Notice)>, Vec<Registrant>) {
        (self.state, self.notices, self.preempted)
    }

    /// Checks the actor's key. `Conflict`: the actor is not registered with it.
    pub fn authorise(&self, key: u64) -> Result<(), Refused> {
        if self.state.key(self.actor) == Some(key) { Ok(()) } else { Err(Refused::Conflict) }
    }

    /// Registers, changes the key of, or (`new_key` 0) unregisters `registrants`: the actor at one
    /// or several target ports.
    ///
    /// `Conflict`: one of them has another key than `key`; with `None` existing keys are ignored.
    /// `NoRoom`: above the limit.
    pub fn register(&mut self, registrants: &[Registrant], key: Option<u64>, new_key: u64) -> Result<(), Refused> {
        for registrant in registrants {
            let existing = self.state.key(registrant);
            if key.is_some_and(|key| registrant != self.actor && existing.is_some_and(|existing| existing != key)) {
                return Err(Refused::Conflict);
            }
            if new_key == 0 {
                self.unregister(registrant);
            } else {
                self.insert(registrant.clone(), new_key)?;
            }
        }
        // A registrant that this change has unregistered is not notified.
        let Self { state, notices, .. } = self;
        notices.retain(|(registrant, _)| state.keys.contains_key(registrant));
        Ok(())
    }

    /// Registers another initiator, unless it is registered already.
    pub fn register_other(&mut self, registrant: Registrant, key: u64) -> Result<(), Refused> {
        if self.state.key(&registrant).is_some() {
            return Ok(());
        }
        self.insert(registrant, key)
    }

    /// Ends an action that changed registrations. `persists`: whether they survive a power loss.
    pub fn finish_registration(&mut self, persists: bool) {
        self.state.persists = persists;
        self.count();
    }

    /// Reserves; repeated by the holder, this is a success.
    ///
    /// `Conflict`: not registered with this key, or another reservation exists, including the
    /// actor's own of another type.
    pub fn reserve(&mut self, key: u64, kind: ReservationType) -> Result<(), Refused> {
        self.authorise(key)?;
        match &self.state.reservation {
            None => {
                self.state.reservation = Some(Reservation { kind, holder: self.actor.clone() });
                Ok(())
            }
            Some(reservation) if reservation.kind == kind && self.state.holds(self.actor) => Ok(()),
            Some(_) => Err(Refused::Conflict),
        }
    }

    /// Removes the reservation. Without a reservation, or by a registrant that does not hold it, a
    /// success without effect.
    ///
    /// `Conflict`: not registered with this key. `WrongType`: the reservation has another type than
    /// `kind`.
    pub fn release(&mut self, key: u64, kind: Option<ReservationType>) -> Result<(), Refused> {
        self.authorise(key)?;
        let Some(held) = self.state.reservation.as_ref().map(|reservation| reservation.kind) else { return Ok(()) };
        if !self.state.holds(self.actor) {
            return Ok(());
        }
        if kind != Some(held) {
            return Err(Refused::WrongType);
        }
        self.state.reservation = None;
        if held.admits_registrants() {
            self.notify_registrants(Notice::ReservationReleased);
        }
        Ok(())
    }

    /// Removes the reservation and every registration. `Conflict`: not registered with this key.
    pub fn clear(&mut self, key: u64) -> Result<(), Refused> {
        self.authorise(key)?;
        let (state, notices) = self.state.cleared();
        self.state = state;
        for (registrant, notice) in notices {
            self.notify(registrant, notice);
        }
        Ok(())
    }

    /// Removes every registration with the key `victim`. If that is the holder's key, or 0 while
    /// all registrants hold the reservation (0 then means all other registrants), the actor takes
    /// the reservation over with the type `kind` and stays registered.
    ///
    /// * `Conflict`: not registered with `key`, or no registrant has the other key.
    /// * `NoKey`: `victim` is 0 without an all registrants reservation.
    /// * `WrongType`: the reservation is taken over, and `kind` is `None`.
    pub fn preempt(&mut self, key: u64, victim: u64, kind: Option<ReservationType>) -> Result<(), Refused> {
        self.authorise(key)?;
        let held = self.state.reservation.clone();
        let all = victim == 0 && held.as_ref().is_some_and(|reservation| reservation.kind.is_all_registrants());
        if victim == 0 && !all {
            return Err(Refused::NoKey);
        }
        let of_holder = held.as_ref().is_some_and(|reservation| {
            !reservation.kind.is_all_registrants() && self.state.key(&reservation.holder) == Some(victim)
        });
        let taken_over = if all || of_holder { Some(kind.ok_or(Refused::WrongType)?) } else { None };
        let named = self.state.keys.iter().filter(|(_, registered)| all || **registered == victim);
        let named: Vec<Registrant> = named.map(|(registrant, _)| registrant.clone()).collect();
        if named.is_empty() {
            return Err(Refused::Conflict);
        }
        for registrant in named {
            let is_actor = registrant == *self.actor;
            if is_actor && taken_over.is_some() {
                continue;
            }
            self.state.keys.remove(&registrant);
            if !is_actor {
                self.preempted.push(registrant.clone());
            }
            self.notify(registrant, Notice::RegistrationPreempted);
        }
        if let Some(kind) = taken_over {
            self.state.reservation = Some(Reservation { kind, holder: self.actor.clone() });
            if held.is_some_and(|held| held.kind != kind) {
                self.notify_registrants(Notice::ReservationReleased);
            }
        } else if self.state.keys.is_empty() {
            self.state.reservation = None;
        }
        self.count();
        Ok(())
    }

    /// Registers `holder` with `key` and gives it the actor's reservation. `unregister`: the
    /// actor's own registration ends. `NoRoom`: above the limit. `Conflict`: the actor is not the
    /// single holder.
    pub fn move_to(&mut self, holder: Registrant, key: u64, unregister: bool) -> Result<(), Refused> {
        let reservation = self
            .state
            .reservation
            .as_mut()
            .filter(|reservation| !reservation.kind.is_all_registrants() && reservation.holder == *self.actor);
        reservation.ok_or(Refused::Conflict)?.holder = holder.clone();
        if unregister {
            self.state.keys.remove(self.actor);
        }
        self.insert(holder, key)
    }

    /// Raises the generation of the registrations.
    fn count(&mut self) {
        self.state.generation = self.state.generation.wrapping_add(1);
    }

    fn notify(&mut self, registrant: Registrant, notice: Notice) {
        if registrant != *self.actor {
            self.notices.push((registrant, notice));
        }
    }

    fn notify_registrants(&mut self, notice: Notice) {
        for registrant in self.state.keys.keys().cloned().collect::<Vec<_>>() {
            self.notify(registrant, notice);
        }
    }

    fn insert(&mut self, registrant: Registrant, key: u64) -> Result<(), Refused> {
        if self.state.keys.insert(registrant, key).is_none() && self.state.keys.len() > self.limit {
            return Err(Refused::NoRoom);
        }
        Ok(())
    }

    /// Removes a registration at the request of its own initiator (SPC-4 §5.9). The reservation
    /// ends with its holder, or with the last registration; the registrants that it admitted are
    /// notified.
    fn unregister(&mut self, registrant: &Registrant) {
        self.state.keys.remove(registrant);
        let Some(reservation) = &self.state.reservation else { return };
        let kind = reservation.kind;
        let gone =
            if kind.is_all_registrants() { self.state.keys.is_empty() } else { reservation.holder == *registrant };
        if gone {
            self.state.reservation = None;
            if kind.admits_registrants() {
                self.notify_registrants(Notice::ReservationReleased);
            }
        }
    }
}
