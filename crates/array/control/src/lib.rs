//! Administration as one enum: an [`Action`] goes in, a [`Reply`] or a [`ControlError`] comes out.
//!
//! `control` owns what the engine and the protocols do not know: names of volumes and snapshots, hosts and how they authenticate,
//! who sees which volume as which logical unit number, and the names that logical units carry towards initiators. All of it lives
//! as JSON documents in the pool's catalog, written in the same atomic commit as the change of the object they describe, so that
//! there is nothing to save and nothing that can disagree after a crash.
//!
//! What runs is reached through two traits: [`Live`] tells the running target what changed and asks it for sessions and counters;
//! [`Environment`] supplies time and randomness. Nothing here opens a socket, a file or a thread, and every call comes from the thread
//! that owns the pool.
#![forbid(unsafe_code)]

mod access;
mod action;
mod catalog;
mod control;
mod directory;
mod environment;
mod error;
mod events;
mod hosts;
mod integrity;
mod jobs;
mod live;
#[cfg(any(test, feature = "memory"))]
pub mod memory;
mod naa;
mod names;
mod note;
mod object_names;
mod offload;
mod pools;
mod ports;
mod record;
mod reply;
mod request;
mod reservations;
mod rollback;
mod sanitize;
mod sessions;
mod snapshots;
mod space;
mod status;
#[cfg(test)]
mod tests;
mod thresholds;
mod tree;
mod unique;
mod volumes;
mod watch;

pub use action::{
    Action, ChapSet, Grantee, HostCreate, HostSet, MutualChapSet, PoolSet, PortGroupSet, PortalSet, Reserve, Revoke,
    VolumeCreate, VolumeRollback, VolumeSet,
};
pub use control::{ArrayOptions, Control, MAX_VOLUME_BYTES};
pub use directory::{Directory, LogicalUnit, Nexus};
pub use environment::{Environment, Secret};
pub use error::{ControlError, Noun, User, UserKind};
pub use events::{Draft, Event, Severity};
pub use integrity::MAX_BAD_RANGES;
pub use jobs::{JobKind, JobReport, JobState, JobView, ReclaimReport, SanitizeJob, SanitizeReport};
pub use live::{
    Bucket, Change, ConnectionCounters, Histogram, Level, Live, OffloadRow, Portal, Primitive, Refusal, RefusalCount,
    Registration, ReservationType, Reservations, SessionInfo, VolumeCounters,
};
pub use naa::Naa;
pub use names::iscsi_name_fault;
pub use object_names::ObjectNames;
pub use ports::{Port, PortalOptions};
pub use record::{
    AccessRecord, ArrayRecord, BadRange, Chap, CheckRecord, Commitment, HostRecord, MutualChap, OverwriteRecord,
    PoolRecord, PortGroupRecord, PortalRecord, RedirectRecord, RegistrationRecord, ReservationsRecord, SanitizeRecord,
    ScrubRecord, SnapshotRecord, SourceRecord, VolumeRecord,
};
pub use reply::{
    AccessView, AlertView, GeneratedSecrets, Health, HostMetrics, HostView, KeptBy, Limits, LunView, MetricsView,
    OffloadView, PoolState, PoolView, PortGroupView, PortalView, RefusalView, Reply, SnapshotView, SourceView,
    SpaceView, StatusView, TreeView, UnmapReport, VolumeMetrics, VolumeView,
};
pub use request::Request;
pub use reservations::{RegistrationView, ReservationList, ReservationShow, ReservationsView};
pub use sessions::{SessionDrop, SessionList, SessionView};
pub use thresholds::SoftThresholds;
pub use unit::{AccessState, StateOrigin};
