//! What the device server needs from others for persistent reservations: somebody who keeps them over a loss of power (APTPL), and
//! somebody who ends the tasks of preempted I_T nexuses.

use crate::nexus::NexusId;
use block::VolumeId;
use std::future::Future;
use std::pin::Pin;
use unit::StoreError;

/// Registrations and reservation of a logical unit, as they are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistedReservations {
    /// Who is registered, at least one.
    pub registrations: Vec<PersistedReservation>,
    /// TYPE of the reservation (SPC-4 §6.15.3.4); `None` when there is none.
    pub reservation_type: Option<u8>,
}

/// A registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistedReservation {
    /// Initiator port: name and ISID, `NAME,i,0xISID`.
    pub initiator_port: String,
    /// Relative target port identifier.
    pub relative_target_port: u16,
    /// Reservation key, not 0.
    pub key: u64,
    /// It holds the reservation. With the all registrants types every one does, and this need not be set.
    pub holder: bool,
}

/// What [`ReservationStore::store`] returns.
pub(crate) type StoreFuture = Pin<Box<dyn Future<Output = Result<(), StoreError>>>>;

/// Keeps persistent reservations over a loss of power.
pub trait ReservationStore {
    /// Keeps this in place of what was kept for the logical unit; `None` keeps nothing. Durable when the future is ready with `Ok`; with
    /// an error, nothing has changed. Never called for a logical unit while a call before it is at work.
    fn store(
        &self,
        volume: VolumeId,
        reservations: Option<PersistedReservations>,
    ) -> Pin<Box<dyn Future<Output = Result<(), StoreError>>>>;
}

/// Ends tasks: the transport owns them.
pub trait TaskAborter {
    /// Ends all tasks of these I_T nexuses on a logical unit, without a response. Ready when none of them can have an effect any more.
    fn abort(&self, volume: VolumeId, nexuses: Vec<NexusId>) -> Pin<Box<dyn Future<Output = ()>>>;
}
