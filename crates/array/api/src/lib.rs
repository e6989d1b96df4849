//! Types of the administrative REST interface, `/api/v1`: requests, responses and problem
//! documents.
//!
//! The types are plain data; the OpenAPI document is generated from them. Requests reject unknown
//! fields, so that a misspelt option is an error and not a silent default. Responses may gain
//! fields, and clients ignore unknown ones. Sizes are whole bytes and end in `_bytes`; times are
//! RFC 3339 in UTC. Changes within `v1` only add.
#![forbid(unsafe_code)]

mod access;
mod event;
mod host;
mod host_group;
mod job;
mod list;
mod offload;
mod pool;
mod portal;
mod problem;
mod reservation;
mod session;
mod snapshot;
mod status;
mod volume;

pub use text::size;

pub use access::{Access, AccessGrant, AccessList};
pub use event::{Alert, Event, EventQuery, Severity};
pub use host::{Chap, ChapSet, GeneratedSecrets, Host, HostCreate, HostLun, HostSet, MutualChapSet};
pub use host_group::{HostGroup, HostGroupCreate, HostGroupSet};
pub use job::{Job, JobSet, JobStart, JobState, ReclaimReport, SanitizeMethod, SanitizeReport};
pub use list::List;
pub use offload::{
    Latency, LatencyBucket, OffloadQuery, OffloadRefusal, OffloadRefusalCount, OffloadStatistics, RefusalQuery,
};
pub use pool::{BadRange, CheckReport, Pool, PoolGrow, PoolSet, PoolState, ScrubReport};
pub use portal::{AccessState, PortGroup, PortGroupSet, Portal, PortalSet, StateOrigin};
pub use problem::{Problem, User};
pub use reservation::{Registration, ReservationQuery, ReservationType, Reservations};
pub use session::Session;
pub use snapshot::{Snapshot, SnapshotCreate, SnapshotGroupCreate, TreeNode};
pub use status::{Health, OffloadTotal, Status};
pub use volume::{
    KeptBySnapshot, Reserve, Source, SourceKind, Unmapped, Volume, VolumeCreate, VolumeDelete, VolumeLun,
    VolumeRollback, VolumeSet, VolumeSpace,
};

/// Word for "every host" where the name of a host is expected. No host can have this name.
pub const ANY_HOST: &str = "any";
