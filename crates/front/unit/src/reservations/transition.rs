//! A change of registrations and reservation while it is worked out: the actions that every protocol has (SPC-4 §5.9, NVM Command Set
//! "Reservations"), and the initiators that have to be notified.

use super::{Registrant, Reservation, ReservationType, State};

/// Why an action was refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The actor is not registered with the key that it gave, does not hold the reservation, or another reservation is there.
    Conflict,
    /// No room for one more registration.
    NoRoom,
    /// The key 0 names no registrant here.
    NoKey,
    /// A reservation type is needed, and none or another one was given.
    WrongType,
}

/// An event that a registrant has to be notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Its registration was removed by another registrant.
    RegistrationPreempted,
    /// The reservation and all registrations were removed.
    ReservationPreempted,
    /// A reservation that it had a part in was released, or changed its type.
    ReservationReleased,
}

/// A change that has not taken effect.
#[derive(Debug)]
pub struct Transition<'a> {
    actor: &'a Registrant,
    state: State,
    notices: Vec<(Registrant, Notice)>,
    preempted: Vec<Registrant>,
    /// Registrations that a volume can have.
    limit: usize,
}

impl<'a> Transition<'a> {
    /// A change by `actor` that changes nothing yet. `limit`: registrations that a volume can have.
    pub fn new(state: &State, actor: &'a Registrant, limit: usize) -> Self {
        Self { actor, state: state.clone(), notices: Vec::new(), preempted: Vec::new(), limit }
    }

    /// The registrant that asked for the change.
    pub fn actor(&self) -> &'a Registrant {
        self.actor
    }

    /// The state after the change.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Takes the change apart: the new state, notices (never for the actor), and other registrants whose registration the actor has
    /// removed.
    pub fn into_parts(self) -> (State, Vec<(Registrant, Notice)>, Vec<Registrant>) {
        (self.state, self.notices, self.preempted)
    }

    /// `Conflict`: the actor is not registered with this key.
    pub fn authorise(&self, key: u64) -> Result<(), Refused> {
        if self.state.key(self.actor) == Some(key) { Ok(()) } else { Err(Refused::Conflict) }
    }

    /// Registers, changes the key or (`new_key` 0) unregisters `registrants`, which are the actor at one or several target ports.
    ///
    /// `Conflict`: one of them has another key than `key`; with `None` existing keys are ignored. `NoRoom`: above the limit.
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
        // A registrant that this change has removed itself is not notified.
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

    /// Ends an action that has changed registrations and says whether they outlive a loss of power.
    pub fn finish_registration(&mut self, persists: bool) {
        self.state.persists = persists;
        self.count();
    }

    /// Makes the reservation; again by its holder is a success.
    ///
    /// `Conflict`: not registered with this key, or there is another reservation, be it the actor's own of another type.
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

    /// Ends the reservation; without one, and by a registrant that does not hold it, a success without effect.
    ///
    /// `Conflict`: not registered with this key. `WrongType`: the reservation has another type than `kind`.
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

    /// Ends the reservation and every registration. `Conflict`: not registered with this key.
    pub fn clear(&mut self, key: u64) -> Result<(), Refused> {
        self.authorise(key)?;
        self.notify_registrants(Notice::ReservationPreempted);
        self.state.reservation = None;
        self.state.keys.clear();
        self.count();
        Ok(())
    }

    /// Removes every registration with the key `victim`. When that is the holder's key, or 0 while all registrants hold the reservation
    /// (then it stands for all others), the actor takes the reservation over with the type `kind` and stays registered.
    ///
    /// * `Conflict`: not registered with `key`, or no registrant has the other key.
    /// * `NoKey`: `victim` is 0 without such a reservation.
    /// * `WrongType`: the reservation is taken over, and `kind` is none.
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

    /// Registers `holder` with `key` and gives it the reservation, whose holder is the actor. `unregister`: the actor's own registration
    /// ends. `NoRoom`: above the limit. `Conflict`: the actor is not the one holder.
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

    /// Counts a change of the registrations.
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

    /// Ends a registration that its own initiator gives up (SPC-4 §5.9). The reservation goes with its holder, or with the last
    /// registration; the registrants that it let in are notified.
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
