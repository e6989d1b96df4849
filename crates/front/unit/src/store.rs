//! Interface from units to the rest of the array: state that has to survive a power loss, and
//! settings of administrators.

mod reservations;
mod sanitize;

pub use reservations::{PersistedRegistration, PersistedReservations};
pub use sanitize::{PersistedSanitize, SanitizeMethod};

use crate::access_state::{AccessState, AccessStateError};
use crate::thresholds::SoftThreshold;
use block::VolumeId;
use std::future::Future;
use std::pin::Pin;
use thiserror::Error;

/// Reason why a change is not known to be stored.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StoreError {
    /// There is no room for the value. The earlier stored value remains.
    #[error("there is no room for it")]
    NoRoom,
    /// The store does not work: the pool has stopped, or refused the change. If it stopped while the change was on its
    /// way to the log, the next start finds the earlier value or the new one.
    #[error("the store failed")]
    Failed,
}

/// Future that the calls of [`UnitStore`] return.
pub type StoreFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// Services of the rest of the array that units use. Every unit has them from its creation.
///
/// A `store_…` call replaces the stored value of its volume; `None` removes it. Its future resolves
/// with `Ok` when the change is durable; an error says what is stored then ([`StoreError`]). Calls of
/// the same name for the same volume do not overlap.
pub trait UnitStore {
    /// Stores reservations.
    fn store_reservations(
        &self,
        volume: VolumeId,
        reservations: Option<PersistedReservations>,
    ) -> StoreFuture<Result<(), StoreError>>;

    /// Stores a sanitize operation.
    fn store_sanitize(
        &self,
        volume: VolumeId,
        operation: Option<PersistedSanitize>,
    ) -> StoreFuture<Result<(), StoreError>>;

    /// Called when a sanitize operation has begun: its steps have to be run until they return
    /// `None`.
    fn start_sanitize(&self, volume: VolumeId);

    /// Changes access states of target port groups, named by number, for a host. `Ok` when the
    /// states are durable and every adapter has them. With an error no adapter has them; after
    /// [`AccessStateError::Failed`] the next start may find either, as after [`StoreError::Failed`].
    fn set_access_states(&self, states: Vec<(u16, AccessState)>) -> StoreFuture<Result<(), AccessStateError>>;

    /// Soft thresholds of a volume that are set now: its own and the pool's.
    fn soft_thresholds(&self, volume: VolumeId) -> Vec<SoftThreshold>;
}
