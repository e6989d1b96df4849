//! What exists once per volume, whatever protocol serves it. Adapters (`scsi_target`) turn a protocol's commands into calls of
//! [`block::BlockDevice`]; what two adapters have to share about one volume is here.
//!
//! Nothing here knows a protocol: no CDB, no sense data, no I_T nexus. There is no runtime, no socket and no clock either; all futures
//! are polled on the thread that owns the volumes.
#![forbid(unsafe_code)]

mod abort;
mod extents;
mod in_flight;
mod offload;
mod refusals;
mod statistics;
mod store;
mod turn;
mod working_memory;

pub use abort::AbortFlag;
pub use extents::{AccessClass, CONFLICTS, ExtentGuard, ExtentLocks, Lock};
pub use in_flight::{Earlier, InFlight, InFlightGuard};
pub use offload::{OffloadStatistics, OffloadWork, Primitive, VolumeOffload};
pub use refusals::{LogEntry, Reason, ReasonCounts, RefusalLog};
pub use statistics::{Io, IoLatency, IoStatistics, LatencyHistogram};
pub use store::StoreError;
pub use turn::{Turn, TurnGuard};
pub use working_memory::{ClientId, Room, WorkingMemory};
