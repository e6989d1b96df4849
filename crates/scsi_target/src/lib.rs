//! The SCSI device server (SAM-5, SPC-4, SBC-3): turns CDBs into calls on a [`block::BlockDevice`] and their results into status,
//! sense data and Data-In.
//!
//! [`ScsiTarget`] holds the logical units of one SCSI target device, the I_T nexuses that are attached, which initiator sees which
//! logical unit as which LUN, SPC-2 and persistent reservations, unit attentions and the results of third-party copies. It has no runtime, no
//! socket and no clock: the transport attaches nexuses, hands over requests and polls the futures, all on one thread.
//!
//! Protection information, log pages and thin-provisioning thresholds are not here yet; a command that is
//! not in the table is answered with INVALID COMMAND OPERATION CODE, and nothing is announced that is not executed: VPD pages, mode
//! pages, REPORT SUPPORTED OPERATION CODES and the checks all read the same rows and limits.
#![forbid(unsafe_code)]

mod aborts;
mod access;
mod command;
mod commands;
mod copies;
mod in_flight;
mod invocation;
mod limits;
mod logical_unit;
mod nexus;
mod offload;
mod persistent_reservations;
mod profile;
mod sense;
mod target;
mod task_management;
#[cfg(test)]
mod tests;

pub use access::{AccessError, Grant};
pub use invocation::{Request, Response};
pub use limits::Limits;
pub use logical_unit::{IoLatency, IoStatistics, LogicalUnitConfig, Profile};
pub use nexus::{NexusId, NexusInfo};
pub use offload::{LatencyHistogram, LogEntry, OffloadStatistics, Primitive, Reason, ReasonCounts, VolumeOffload};
pub use persistent_reservations::{
    PersistedReservation, PersistedReservations, ReservationStore, StoreError, TaskAborter,
};
pub use target::{Clock, ScsiTarget, TargetIdentity, TargetOptions, TargetPort};
pub use task_management::TaskManagementError;

pub use profile::UnknownWord;
