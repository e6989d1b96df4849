//! Administration of the array. A [`Request`] is a type in the folder of its noun, with its reply,
//! its execution and its event; [`Control::execute`] runs it.
//!
//! `control` owns the knowledge that the engine and the protocols lack: names of volumes and
//! snapshots, hosts and their authentication, access to volumes and their logical unit numbers, and
//! the designators of logical units. All of it is stored as JSON documents in the pool's catalog,
//! in the same atomic commit as the change of the object that they describe. There is thus no
//! separate state to save, and a crash leaves no contradiction.
//!
//! Reads ([`Read`]) are answered from [`Facts`]. Their copy is the [`Mirror`], which `control`
//! keeps up to date for other threads, so that reads take no time of the thread that owns the pool.
//!
//! Two traits connect `control` to the running array: [`Live`] publishes changes to the running
//! target and returns sessions and counters; [`Environment`] supplies time and randomness. This
//! crate opens no sockets, files or threads, and every call except to the mirror comes from the
//! thread that owns the pool.
#![forbid(unsafe_code)]

mod access;
mod catalog;
mod control;
mod directory;
mod environment;
mod error;
mod events;
mod host_groups;
mod hosts;
mod jobs;
mod live;
#[cfg(any(test, feature = "memory"))]
pub mod memory;
mod naa;
mod names;
mod object_names;
mod offload;
mod pools;
mod ports;
mod record;
mod request;
mod reservations;
mod sanitize;
mod sessions;
mod snapshots;
mod system;
#[cfg(test)]
mod tests;
mod volumes;

pub use access::{AccessGrant, AccessList, AccessRevoke, AccessView, Grantee, Revoke};
pub use control::{ArrayOptions, Control};
pub use directory::{Directory, LogicalUnit, Nexus};
pub use environment::{Environment, Secret};
pub use error::{ControlError, Noun, User, UserKind};
pub use events::{AlertList, AlertView, Draft, Event, EventList, Severity};
pub use host_groups::{HostGroupCreate, HostGroupDelete, HostGroupList, HostGroupSet, HostGroupShow, HostGroupView};
pub use hosts::{
    ChapSet, GeneratedSecrets, HostCreate, HostDelete, HostList, HostSet, HostShow, HostView, MutualChapSet,
};
pub use jobs::{
    JobCancel, JobKind, JobList, JobReport, JobSet, JobShow, JobState, JobView, PoolCheck, PoolReclaim, PoolScrub,
    ReclaimReport, SanitizeJob, SanitizeReport, VolumeReclaim,
};
pub use live::{
    Bucket, Change, ConnectionCounters, Histogram, Level, Live, OffloadRow, Portal, Refusal, RefusalCount,
    Registration, Reservations, SessionInfo, VolumeCounters,
};
pub use naa::Naa;
pub use names::iscsi_name_fault;
pub use object_names::ObjectNames;
pub use offload::{OffloadLog, OffloadStatistics, OffloadView, RefusalView};
pub use pools::integrity::MAX_BAD_RANGES;
pub use pools::thresholds::SoftThresholds;
pub use pools::{Limits, PoolGrow, PoolList, PoolSet, PoolShow, PoolState, PoolView};
pub use ports::{
    Port, PortGroupList, PortGroupSet, PortGroupShow, PortGroupView, PortalList, PortalOptions, PortalSet, PortalShow,
    PortalView,
};
pub use access::record::{AccessRecord, To};
pub use host_groups::record::HostGroupRecord;
pub use hosts::record::{Chap, HostRecord, MutualChap};
pub use pools::record::{BadRange, CheckRecord, Commitment, PoolRecord, ScrubRecord};
pub use ports::record::{PortGroupRecord, PortalRecord, RedirectRecord};
pub use reservations::record::{RegistrationRecord, ReservationsRecord};
pub use sanitize::record::{OverwriteRecord, SanitizeRecord};
pub use snapshots::record::SnapshotRecord;
pub use volumes::record::{SourceRecord, VolumeRecord};
pub use system::ArrayRecord;
pub use request::{Outcome, Request};
pub use reservations::{RegistrationView, ReservationList, ReservationShow, ReservationsView};
pub use sessions::{SessionDrop, SessionList, SessionView};
pub use snapshots::{
    SnapshotCreate, SnapshotDelete, SnapshotGroup, SnapshotList, SnapshotShow, SnapshotTree, SnapshotView, TreeView,
};
pub use system::{Health, HostMetrics, MetricsShow, MetricsView, Ping, StatusShow, StatusView, VolumeMetrics};
pub use unit::{AccessState, Primitive, ReservationType, StateOrigin};
pub use volumes::{
    KeptBy, LunView, MAX_VOLUME_BYTES, Reserve, SourceView, SpaceView, UnmapReport, VolumeCreate, VolumeDelete,
    VolumeList, VolumeRollback, VolumeSet, VolumeShow, VolumeSpace, VolumeView,
};
