//! What an action returns: views that join the documents with what the pool and the running target know.

use crate::{
    AccessRecord, AccessState, CheckRecord, Commitment, ConnectionCounters, Event, HostRecord, JobKind, JobView,
    OffloadRow, PortGroupRecord, Portal, RedirectRecord, Refusal, Reservations, ScrubRecord, Severity, SnapshotRecord,
    VolumeCounters, VolumeRecord,
};
use jiff::Timestamp;
use pool::{ObjectInfo, PoolSpace};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The result of an [`Action`](crate::Action). `created` is false when the object was there already with the same parameters.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Done, nothing to show.
    Done,
    /// The array.
    Status(Box<StatusView>),
    /// Counters.
    Metrics(Box<MetricsView>),
    /// Pools.
    Pools(Vec<PoolView>),
    /// One pool.
    Pool(Box<PoolView>),
    /// Where a volume's space is.
    Space(Box<SpaceView>),
    /// Volumes and snapshots that descend from each other, each after what it comes from.
    Tree(Vec<TreeView>),
    /// Several snapshots taken at one instant.
    Group {
        /// The snapshots, in the order asked for.
        views: Vec<SnapshotView>,
        /// Made by this action.
        created: bool,
    },
    /// Jobs.
    Jobs(Vec<JobView>),
    /// One job.
    Job {
        /// The job.
        view: Box<JobView>,
        /// Made by this action.
        created: bool,
    },
    /// Events.
    Events(Vec<Event>),
    /// Alerts.
    Alerts(Vec<AlertView>),
    /// Volumes.
    Volumes(Vec<VolumeView>),
    /// One volume.
    Volume {
        /// The volume.
        view: Box<VolumeView>,
        /// Made by this action.
        created: bool,
    },
    /// Snapshots.
    Snapshots(Vec<SnapshotView>),
    /// One snapshot.
    Snapshot {
        /// The snapshot.
        view: Box<SnapshotView>,
        /// Made by this action.
        created: bool,
    },
    /// Hosts.
    Hosts(Vec<HostView>),
    /// One host.
    Host {
        /// The host.
        view: Box<HostView>,
        /// Made by this action.
        created: bool,
    },
    /// Grants.
    Accesses(Vec<AccessView>),
    /// One grant.
    Access {
        /// The grant.
        view: Box<AccessView>,
        /// Made by this action.
        created: bool,
    },
    /// Offload rows.
    OffloadStatistics(Vec<OffloadView>),
    /// Refusals.
    OffloadLog(Vec<RefusalView>),
    /// Portals.
    Portals(Vec<PortalView>),
    /// One portal.
    Portal(Box<PortalView>),
    /// Target port groups.
    PortGroups(Vec<PortGroupView>),
    /// One target port group.
    PortGroup(Box<PortGroupView>),
}

/// A portal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalView {
    /// Relative target port identifier.
    pub identifier: u16,
    /// Where it listens.
    pub portal: Portal,
    /// Target port group.
    pub group: u16,
    /// State of that.
    pub state: AccessState,
    /// Where logins are sent.
    pub redirect: Option<RedirectRecord>,
    /// Name of the target behind it.
    pub target: String,
}

/// A target port group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortGroupView {
    /// What is kept of it.
    pub record: PortGroupRecord,
    /// Addresses that its portals listen on.
    pub portals: Vec<String>,
    /// Sessions through them.
    pub sessions: u64,
}

/// Whether the array serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Everything serves.
    Healthy,
    /// Something is critical: the pool is full or nearly so, or content was lost.
    Degraded,
    /// The pool has stopped.
    Failed,
}

/// Whether a pool serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolState {
    /// Serving.
    Healthy,
    /// Serving, but content or metadata is lost.
    Damaged,
    /// No space for new data except that of thick volumes.
    Full,
    /// Stopped after an error of its medium.
    Stopped,
}

/// The array.
#[derive(Clone, Debug)]
pub struct StatusView {
    /// Whether it serves.
    pub health: Health,
    /// Its identity.
    pub array_id: Uuid,
    /// Name of the iSCSI target.
    pub target: String,
    /// When `control` was opened.
    pub started: Timestamp,
    /// Seconds since then.
    pub uptime_seconds: u64,
    /// Portals.
    pub portals: Vec<PortalView>,
    /// The pool.
    pub pool: PoolView,
    /// Number of hosts.
    pub hosts: u64,
    /// Number of sessions.
    pub sessions: u64,
    /// Offload rows of all volumes.
    pub offload: Vec<OffloadRow>,
    /// What needs attention.
    pub alerts: Vec<AlertView>,
    /// Jobs that run.
    pub jobs: Vec<JobView>,
}

/// A pool.
#[derive(Clone, Debug)]
pub struct PoolView {
    /// Name.
    pub name: String,
    /// Whether it serves.
    pub state: PoolState,
    /// Why it stopped, when it has.
    pub stopped: Option<String>,
    /// Space.
    pub space: PoolSpace,
    /// Sum of volume sizes.
    pub provisioned_bytes: u64,
    /// Sum of what volumes have mapped.
    pub mapped_bytes: u64,
    /// Number of volumes.
    pub volumes: u64,
    /// Number of snapshots.
    pub snapshots: u64,
    /// Free and promised to nobody.
    pub available_bytes: u64,
    /// Sum of what deleting each single volume would free; absent until all are counted.
    pub unique_bytes: Option<u64>,
    /// Sum over the volumes of what deleting all snapshots of each would free; absent until all are counted.
    pub snapshot_bytes: Option<u64>,
    /// What only copy tokens of hosts keep, for as long as they last; absent until all are counted.
    pub token_bytes: Option<u64>,
    /// What is left of `used`: stored once for several, and what is about to become free. Absent until all are counted.
    pub shared_bytes: Option<u64>,
    /// Thresholds and limit in force.
    pub limits: Limits,
    /// What the last scrub found.
    pub scrub: Option<ScrubRecord>,
    /// What the last check found.
    pub check: Option<CheckRecord>,
}

/// Thresholds of a pool and the limit of its over-commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Share used or promised, in percent, from which on it warns.
    pub warn_percent: u8,
    /// The same for critical.
    pub critical_percent: u8,
    /// How much the volumes may have together.
    pub commitment: Commitment,
}

impl Default for Limits {
    fn default() -> Self {
        Self { warn_percent: 80, critical_percent: 90, commitment: Commitment::Unlimited }
    }
}

/// Where the space of a volume is: `mapped = unique + shared`.
#[derive(Clone, Debug)]
pub struct SpaceView {
    /// The volume's name.
    pub volume: String,
    /// Its object.
    pub object: ObjectInfo,
    /// What deleting it would free.
    pub unique_bytes: Option<u64>,
    /// What deleting all its snapshots together would free.
    pub snapshot_bytes: Option<u64>,
    /// Where what hosts unmapped went since the array started.
    pub unmapped: UnmapReport,
}

/// Where unmapped bytes went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnmapReport {
    /// UNMAP commands done.
    pub commands: u64,
    /// Bytes they were about.
    pub requested_bytes: u64,
    /// Deallocated: free now, unless a snapshot keeps it.
    pub deallocated_bytes: u64,
    /// At the edges of what was unmapped: reads as zeros and stays allocated.
    pub unaligned_bytes: u64,
    /// Commands whose whole range was below the unit of allocation.
    pub below_grain_commands: u64,
    /// What each snapshot alone keeps, the largest first.
    pub kept: Vec<KeptBy>,
}

/// What a snapshot alone keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptBy {
    /// `volume@name`.
    pub snapshot: String,
    /// Bytes that deleting it would free; absent while they are counted.
    pub unique_bytes: Option<u64>,
}

/// A volume or snapshot in a tree.
#[derive(Clone, Debug)]
pub struct TreeView {
    /// Steps from the root.
    pub depth: u64,
    /// Snapshot or volume.
    pub snapshot: bool,
    /// Identity.
    pub id: Uuid,
    /// What it comes from; absent for the root.
    pub parent: Option<Uuid>,
    /// Name; `volume@name` for a snapshot.
    pub name: String,
    /// Its object.
    pub object: ObjectInfo,
    /// What deleting it alone would free.
    pub unique_bytes: Option<u64>,
    /// How many volumes and snapshots come directly from it.
    pub dependents: u64,
    /// When it was made.
    pub created: Timestamp,
}

/// Something that needs attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertView {
    /// Stable name of the condition.
    pub code: &'static str,
    /// How bad.
    pub severity: Severity,
    /// Pool or volume, by name.
    pub subject: String,
    /// Since when.
    pub since: Timestamp,
    /// In words.
    pub message: String,
    /// What to do about it.
    pub help: &'static str,
}

/// A volume.
#[derive(Clone, Debug)]
pub struct VolumeView {
    /// Its document.
    pub record: VolumeRecord,
    /// Its object.
    pub object: ObjectInfo,
    /// What deleting it would free; absent while the first count of it goes on.
    pub unique_bytes: Option<u64>,
    /// What deleting all its snapshots together would free; absent while the first count of it goes on.
    pub snapshot_bytes: Option<u64>,
    /// Number of its snapshots.
    pub snapshots: u64,
    /// What it was cloned from.
    pub source: Option<SourceView>,
    /// Where hosts find it, by host name, `any` first.
    pub luns: Vec<LunView>,
}

/// What a volume was cloned from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceView {
    /// True: a snapshot. False: a volume.
    pub snapshot: bool,
    /// Identity.
    pub id: Uuid,
    /// Name now; absent once deleted.
    pub name: Option<String>,
}

/// A place where a volume is found. Depending on where it stands, `name` is the host's (absent: any host) or the volume's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LunView {
    /// Host or volume.
    pub name: Option<String>,
    /// Logical unit number.
    pub lun: u16,
    /// URL at the first portal.
    pub iscsi_url: String,
}

/// A snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotView {
    /// Its document.
    pub record: SnapshotRecord,
    /// Its object.
    pub object: ObjectInfo,
    /// What deleting it would free; absent while the first count of it goes on.
    pub unique_bytes: Option<u64>,
    /// The volume's name.
    pub volume: String,
    /// Volumes cloned from it.
    pub dependents: Vec<String>,
}

/// A host.
#[derive(Clone, Debug)]
pub struct HostView {
    /// Its document, secrets included: whoever shows it leaves them out.
    pub record: HostRecord,
    /// Sessions now.
    pub sessions: u64,
    /// Volumes granted to it.
    pub luns: Vec<LunView>,
    /// Secrets made by this action.
    pub generated: Option<GeneratedSecrets>,
}

/// Secrets made by an action; to be shown once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratedSecrets {
    /// The host's.
    pub chap: Option<crate::Secret>,
    /// The array's.
    pub mutual: Option<crate::Secret>,
}

/// A grant.
#[derive(Clone, Debug)]
pub struct AccessView {
    /// Its document.
    pub record: AccessRecord,
    /// The volume's name.
    pub volume: String,
    /// The host's name; absent: any.
    pub host: Option<String>,
    /// URL at the first portal.
    pub iscsi_url: String,
}

/// An offload row.
#[derive(Clone, Debug)]
pub struct OffloadView {
    /// The volume's name; absent once deleted.
    pub volume: Option<String>,
    /// The row.
    pub row: OffloadRow,
}

/// A refusal.
#[derive(Clone, Debug)]
pub struct RefusalView {
    /// The volume's name; absent once deleted.
    pub volume: Option<String>,
    /// The initiator's host.
    pub host: Option<String>,
    /// The entry.
    pub refusal: Refusal,
}

/// Everything a scrape needs.
#[derive(Clone, Debug)]
pub struct MetricsView {
    /// The pool.
    pub pool: PoolView,
    /// Volumes.
    pub volumes: Vec<VolumeMetrics>,
    /// Hosts.
    pub hosts: Vec<HostMetrics>,
    /// Offload rows, by volume.
    pub offload: Vec<OffloadView>,
    /// Connections to the portals.
    pub connections: ConnectionCounters,
    /// Number of running jobs of each kind.
    pub jobs: Vec<(JobKind, u64)>,
    /// What needs attention.
    pub alerts: Vec<AlertView>,
}

/// A volume in a scrape.
#[derive(Clone, Debug)]
pub struct VolumeMetrics {
    /// Its document.
    pub record: VolumeRecord,
    /// Its object.
    pub object: ObjectInfo,
    /// Its counters, once it was read or written.
    pub counters: Option<VolumeCounters>,
    /// Registrations and reservation.
    pub reservations: Reservations,
    /// What deleting it would free, as last counted.
    pub unique_bytes: Option<u64>,
    /// What deleting its snapshots would free, as last counted.
    pub snapshot_bytes: Option<u64>,
}

/// A host in a scrape.
#[derive(Clone, Debug)]
pub struct HostMetrics {
    /// Name.
    pub name: String,
    /// Sessions by portal.
    pub sessions: Vec<(String, u64)>,
}
