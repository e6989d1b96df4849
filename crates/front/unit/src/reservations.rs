//! Reservations of a volume: registrations with their keys, the reservation, and how a change of them takes effect.
//!
//! The model is that of SCSI persistent reservations (SPC-4 §5.9), which NVMe reservations share: one table of registrants of any
//! protocol, six reservation types, one generation. The rules are pure: [`State`] is the present state, an adapter makes a
//! [`Transition`] out of it, and [`Reservations::commit`] lets it take effect: durable first when it has to be, then visible. The table
//! of what a reservation permits is [`Access`].

mod access;
mod kind;
mod persisted;
mod state;
mod transition;

pub use access::Access;
pub use kind::ReservationType;
pub use persisted::{PersistedRegistration, PersistedReservations};
pub use state::{Registrant, Reservation, Role, State};
pub use transition::{Notice, Refused, Transition};

use crate::store::{StoreError, UnitStore};
use crate::turn::{Turn, TurnGuard};
use block::VolumeId;
use std::cell::{Cell, Ref, RefCell};

/// The reservations of one volume.
#[derive(Debug, Default)]
pub struct Reservations {
    state: RefCell<State>,
    /// Type of the reservation, where every command looks.
    held: Cell<Option<ReservationType>>,
    turn: Turn,
}

impl Reservations {
    /// The present state.
    pub fn state(&self) -> Ref<'_, State> {
        self.state.borrow()
    }

    /// Role of a registrant (`None`: a client that cannot register) under the reservation, and its type; `None` without a reservation.
    pub fn role(&self, registrant: Option<&Registrant>) -> Option<(ReservationType, Role)> {
        let kind = self.held.get()?;
        Some((kind, registrant.map_or(Role::Unregistered, |registrant| self.state.borrow().role(registrant))))
    }

    /// Whether the reservation permits a command of this class to a client.
    pub fn permits(&self, registrant: Option<&Registrant>, access: Access) -> bool {
        self.role(registrant).is_none_or(|(kind, role)| access.permits(kind, role))
    }

    /// Waits for the right to change reservations.
    pub async fn turn(&self) -> TurnGuard<'_> {
        self.turn.take().await
    }

    /// Lets a change take effect, durably when the old or the new state has to outlive a loss of power. The caller holds the
    /// [`Self::turn`]. With an error, nothing has changed.
    pub async fn commit(&self, volume: VolumeId, store: &dyn UnitStore, state: State) -> Result<(), StoreError> {
        let kept = self.state.borrow().to_persist();
        let to_keep = state.to_persist();
        if kept != to_keep {
            store.store_reservations(volume, to_keep).await?;
        }
        self.set_state(state);
        Ok(())
    }

    /// Puts back a kept state, before the first command. False when it contradicts itself; then nothing has changed.
    #[must_use]
    pub fn restore(&self, persisted: &PersistedReservations) -> bool {
        let state = State::restored(persisted);
        let consistent = state.is_some();
        if let Some(state) = state {
            self.set_state(state);
        }
        consistent
    }

    fn set_state(&self, state: State) {
        self.held.set(state.reservation.as_ref().map(|reservation| reservation.kind));
        self.state.replace(state);
    }
}
