//! State that exists once per volume, whatever protocol serves it. Adapters (`scsi_target`)
//! translate a protocol's commands into calls of [`block::BlockDevice`]; this crate holds the state
//! of a volume that adapters share.
//!
//! The crate knows no protocol: no CDB, no sense data, no I_T nexus. It has no runtime, no socket
//! and no clock; all futures are polled on the thread that owns the volumes.
#![forbid(unsafe_code)]

mod abort;
mod access_state;
mod copy;
mod extents;
mod in_flight;
mod offload;
mod refusals;
pub mod reservations;
mod sanitize;
mod statistics;
mod store;
mod thresholds;
mod turn;
mod unit;
mod wait;
mod working_memory;

pub use abort::AbortFlag;
pub use access_state::{AccessState, AccessStateError, StateOrigin};
pub use copy::lock_copy;
pub use extents::{AccessClass, CONFLICTS, ExtentGuard, ExtentLocks, Lock};
pub use in_flight::{Earlier, InFlight, InFlightGuard};
pub use offload::{OffloadStatistics, OffloadWork, Primitive, VolumeOffload};
pub use refusals::{LogEntry, Reason, ReasonCounts, RefusalLog};
pub use reservations::{
    Access, PersistedRegistration, PersistedReservations, Registrant, ReservationType, Reservations,
};
pub use sanitize::{Begun, PersistedSanitize, Sanitize, SanitizeError, SanitizeMethod};
pub use statistics::{CommandInFlight, Io, IoLatency, IoStatistics, LatencyHistogram, Statistics};
pub use store::{StoreError, StoreFuture, UnitStore};
pub use thresholds::SoftThreshold;
pub use turn::{Turn, TurnGuard};
pub use unit::Unit;
pub use wait::WaitQueue;
pub use working_memory::{ClientId, Room, WorkingMemory};
