//! The SCSI device server (SAM-5, SPC-4, SBC-3): turns CDBs into calls on a [`block::BlockDevice`] and their results
//! into status, sense data and Data-In.
//!
//! [`ScsiTarget`] holds the logical units of one SCSI target device, the attached I_T nexuses, the
//! access grants, SPC-2 and persistent reservations, unit attentions, the results of third-party
//! copies, and ROD tokens. It has no runtime, no socket and no clock: the transport attaches
//! nexuses, passes requests and polls the futures, all on one thread.
//!
//! Protection information is not implemented. A command that is not in the table is answered with
//! INVALID COMMAND OPERATION CODE. Nothing is announced that is not executed: VPD pages, mode
//! pages, REPORT SUPPORTED OPERATION CODES and the checks all read the same rows and limits.
#![forbid(unsafe_code)]

mod admission;
mod blocks;
mod charges;
mod command;
mod commands;
mod copies;
mod copy_segments;
mod device;
mod execution;
mod limits;
mod logical_unit;
mod nexus;
mod nexus_id;
mod observed;
mod profile;
mod refusal;
mod reply;
mod sense;
mod task_set;
#[cfg(test)]
mod tests;
mod tokens;
mod view;

pub use admission::Limited;
pub use charges::{OffloadCost, OffloadLimits};
pub use device::persistent_reservations::{initiator_port, registrant};
pub use device::port_groups::{TargetPort, TargetPortGroup};
pub use device::{
    AccessError, Arrival, Grant, Request, Response, ScsiTarget, TargetIdentity, TargetOptions, TaskManagementError,
};
pub use limits::{Limits, TokenLimits};
pub use logical_unit::{LogicalUnitConfig, Profile};
pub use nexus::NexusInfo;
pub use nexus_id::NexusId;
pub use observed::{Observed, PrimitiveUse, SCSI_PRIMITIVES, Seen, UnitSeen};
pub use scsi::LogicalUnitNumber;
pub use task_set::TaskAttribute;
pub use view::NexusView;

pub use profile::UnknownWord;
