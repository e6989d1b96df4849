//! State that exists once per volume, whatever protocol serves it. Adapters (`scsi_target`)
//! translate a protocol's commands into calls of [`block::BlockDevice`]; this crate holds the state
//! of a volume that adapters share.
//!
//! The crate executes no command of any protocol, though some of its names come from SCSI: primitives,
//! reasons of refusals, methods of sanitize operations. It has no runtime, no socket and no clock; all
//! futures are polled on the thread that owns the volumes.
#![forbid(unsafe_code)]

mod abort;
mod access_state;
mod adapter;
mod clock;
mod copy;
mod extents;
mod fair_lock;
mod in_flight;
mod latency;
mod offload;
mod primitive;
mod refusal_log;
mod refusals;
mod registrant;
mod reservation_type;
pub mod reservations;
mod sanitize;
mod statistics;
mod store;
mod thresholds;
mod unit;
mod units;
mod wait;
mod working_memory;

pub use abort::AbortFlag;
pub use access_state::{AccessState, AccessStateError, StateOrigin};
pub use adapter::Adapter;
pub use block::VolumeId;
pub use clock::Clock;
pub use copy::lock_copy;
pub use extents::{CONFLICTS, ExtentGuard, ExtentLocks, Lock, LockMode};
pub use fair_lock::{FairLock, FairLockGuard};
pub use in_flight::{Earlier, InFlight, InFlightGuard};
pub use latency::LatencyHistogram;
pub use offload::{DeletedOffload, OffloadClient, OffloadStatistics, OffloadWork, VolumeOffload};
pub use primitive::Primitive;
pub use refusal_log::{LogEntry, RefusalLog};
pub use refusals::{Ending, Reason, ReasonCounts};
pub use registrant::Registrant;
pub use reservation_type::ReservationType;
pub use reservations::{Holder, ReservationClass, ReservationHolder, ReservationReport, Reservations};
pub use sanitize::{Begun, Sanitize, SanitizeError};
pub use statistics::{CommandInFlight, Io, IoLatency, IoStatistics, Statistics, UsedUnits};
pub use store::{
    PersistedRegistration, PersistedReservations, PersistedSanitize, SanitizeMethod, StoreError, StoreFuture, UnitStore,
};
pub use thresholds::SoftThreshold;
pub use unit::Unit;
pub use units::{Units, UnitsOptions};
pub use wait::WaitQueue;
pub use working_memory::{ClientId, Room, WorkingMemory};

/// User and group `nobody` of hosts: what a caller without an identity is by default.
pub const NOBODY: u32 = 65534;
