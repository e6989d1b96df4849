//! The one interface through which units reach the rest of the array: what has to outlive a loss of power, what administrators have set,
//! and tasks that connections own.

use crate::access_state::{AccessState, AccessStateError};
use crate::reservations::{PersistedReservations, Registrant};
use crate::sanitize::PersistedSanitize;
use crate::thresholds::SoftThreshold;
use block::VolumeId;
use std::future::Future;
use std::pin::Pin;
use thiserror::Error;

/// Why something was not kept. What was kept before still is.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StoreError {
    /// There is no room for it.
    #[error("there is no room for it")]
    NoRoom,
    /// The store does not work.
    #[error("the store does not work")]
    Failed,
}

/// Future of a call of [`UnitStore`].
pub type StoreFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// What units ask of the rest of the array. Given when the units are created, so that none is without it.
///
/// A `store_…` call replaces the kept value of its volume; `None` removes it. Its future resolves with `Ok` when the change is durable;
/// with an error, nothing has changed. No such call is made for a volume while one of the same name is in progress for it.
pub trait UnitStore {
    /// Keeps reservations.
    fn store_reservations(
        &self,
        volume: VolumeId,
        reservations: Option<PersistedReservations>,
    ) -> StoreFuture<Result<(), StoreError>>;

    /// Keeps a sanitize operation.
    fn store_sanitize(
        &self,
        volume: VolumeId,
        operation: Option<PersistedSanitize>,
    ) -> StoreFuture<Result<(), StoreError>>;

    /// A sanitize operation has begun: its steps have to be run until they return `None`.
    fn start_sanitize(&self, volume: VolumeId);

    /// Changes access states of groups of target ports, named by number, for a host. `Ok` when the states are durable and every adapter
    /// has them.
    fn set_access_states(&self, states: Vec<(u16, AccessState)>) -> StoreFuture<Result<(), AccessStateError>>;

    /// The soft thresholds of a volume as they are set now: its own and the pool's.
    fn soft_thresholds(&self, volume: VolumeId) -> Vec<SoftThreshold>;

    /// Ends all commands of these registrants on a volume, without a response. Resolves when none of them can have an effect any more.
    fn abort_commands(&self, volume: VolumeId, registrants: Vec<Registrant>) -> StoreFuture<()>;
}
