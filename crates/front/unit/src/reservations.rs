//! Reservations of a volume: registrations with their keys, the reservation, and changes of both.
//!
//! The model is that of SCSI persistent reservations (SPC-4 §5.9), which NVMe reservations share:
//! one table of registrants of any protocol, six reservation types, one generation. The rules are
//! pure: an adapter derives a [`Transition`] from the current [`State`], and
//! [`Reservations::commit`] makes it effective: first durable if it has to be, then visible.
//! [`ReservationClass`] is the table of what a reservation permits.
//!
//! Beside them there is the older reservation of the whole unit by one client (RESERVE of SPC-2),
//! which excludes the clients of every protocol.

mod class;
mod holder;
mod report;
mod state;
mod transition;

pub use class::ReservationClass;
pub use holder::{Holder, ReservationHolder};
pub use report::{RegistrationInfo, ReservationReport};
pub use state::{Reservation, Role, State};
pub use transition::{Notice, Refused, Transition};

use crate::fair_lock::{FairLock, FairLockGuard};
use crate::registrant::Registrant;
use crate::reservation_type::ReservationType;
use crate::store::{PersistedReservations, StoreError, UnitStore};
use crate::working_memory::ClientId;
use block::VolumeId;
use std::cell::{Cell, Ref, RefCell};

/// Reservations of one volume.
#[derive(Debug, Default)]
pub struct Reservations {
    state: RefCell<State>,
    /// Type of the reservation, copied here because every command checks it.
    held: Cell<Option<ReservationType>>,
    /// Client that has reserved the whole unit.
    whole: Cell<Option<ClientId>>,
    changes: FairLock,
}

impl Reservations {
    /// Current state.
    pub fn state(&self) -> Ref<'_, State> {
        self.state.borrow()
    }

    /// Type of the reservation, and role of a registrant under it (`None`: a client that cannot
    /// register). `None` without a reservation.
    pub fn role(&self, registrant: Option<&Registrant>) -> Option<(ReservationType, Role)> {
        let kind = self.held.get()?;
        Some((kind, registrant.map_or(Role::Unregistered, |registrant| self.state.borrow().role(registrant))))
    }

    /// Whether the reservations permit a command of this class to a client. `registrant`: owner of
    /// the client's registrations; `None` if it cannot register.
    pub fn permits(&self, client: ClientId, registrant: Option<&Registrant>, class: ReservationClass) -> bool {
        let reserved = self.whole.get().is_some_and(|holder| class.conflicts_with_reserve(holder == client));
        !reserved && self.role(registrant).is_none_or(|(kind, role)| class.permits(kind, role))
    }

    /// Client that has reserved the whole unit.
    pub fn whole(&self) -> Option<ClientId> {
        self.whole.get()
    }

    /// Reserves the whole unit for a client, or releases it. The caller has checked
    /// [`Self::permits`].
    pub fn set_whole(&self, holder: Option<ClientId>) {
        self.whole.set(holder);
    }

    /// Waits for the exclusive right to change reservations.
    pub async fn lock(&self) -> FairLockGuard<'_> {
        self.changes.lock().await
    }

    /// Makes a change effective, durably if the old or the new state has to survive a power loss.
    /// The caller holds the [`Self::lock`]. On error the state in memory is as before, and so is the
    /// stored one unless the store failed ([`StoreError::Failed`]).
    pub async fn commit(&self, volume: VolumeId, store: &dyn UnitStore, state: State) -> Result<(), StoreError> {
        let kept = self.state.borrow().to_persist();
        let to_keep = state.to_persist();
        if kept != to_keep {
            store.store_reservations(volume, to_keep).await?;
        }
        self.set_state(state);
        Ok(())
    }

    /// Restores a stored state, before the first command. False when it is inconsistent; then
    /// nothing has changed.
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
