//! Persistent reservations of a logical unit, SPC-4 §5.9: who is registered with which key, who holds the reservation, and how a change
//! of that comes about.
//!
//! The rules are pure: [`State`] is what there is, a service action makes a [`Transition`] out of it, and
//! `commands::persistent_reserve_out` lets it take effect, one at a time: durable first when it has to be, then visible, and answered
//! when nothing that the old state let pass can land any more. The table of what a reservation lets pass is `command::Access`.

mod durable;
mod of_target;
mod report;
mod state;
mod transition;

pub(crate) use durable::StoreFuture;
pub use durable::{PersistedReservation, PersistedReservations, ReservationStore, TaskAborter};
pub use report::{RegistrationInfo, ReservationReport};
pub(crate) use state::{NexusName, Reservation, State};
pub(crate) use transition::{Surroundings, Transition};

use scsi::persistent_reservation::ReservationType;
use std::cell::{Cell, Ref, RefCell};
use unit::{Turn, TurnGuard};

/// What an I_T nexus is to a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It holds the reservation.
    Holder,
    /// It is registered and does not hold the reservation.
    Registrant,
    /// It is not registered.
    Unregistered,
}

/// The persistent reservations of one logical unit.
#[derive(Debug, Default)]
pub(crate) struct PersistentReservations {
    state: RefCell<State>,
    /// The type of the reservation, where every command looks.
    held: Cell<Option<ReservationType>>,
    /// Held by whoever changes reservations of either kind.
    turn: Turn,
}

impl PersistentReservations {
    pub fn state(&self) -> Ref<'_, State> {
        self.state.borrow()
    }

    pub fn set_state(&self, state: State) {
        self.held.set(state.reservation.as_ref().map(|reservation| reservation.kind));
        self.state.replace(state);
    }

    /// The type of the reservation, and what the I_T nexus is to it; `None` when there is none.
    pub fn role(&self, nexus: Option<&NexusName>) -> Option<(ReservationType, Role)> {
        let kind = self.held.get()?;
        Some((kind, nexus.map_or(Role::Unregistered, |nexus| self.state.borrow().role(nexus))))
    }

    /// Waits for the right to change reservations.
    pub async fn turn(&self) -> TurnGuard<'_> {
        self.turn.take().await
    }
}
