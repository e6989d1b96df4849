//! Interface between `control` and the running array.
//!
//! Counters are snapshots: plain numbers copied at the call. Objects are identified by their
//! [`ObjectId`], so that renaming a volume does not touch the data path.

mod logins;
mod nfs;
mod seen;

pub use logins::{Knock, LoginAttempt, LoginAttempts, LoginOutcome};
pub use nfs::{NfsClientInfo, NfsClientStanding, NfsGrace, NfsLockInfo, NfsPart, NfsPosition};
pub use seen::{PrimitiveSeen, SessionSeen, UnitSeen};

use crate::directory::Directory;
use crate::exports::ExportRule;
use crate::live_files::LiveFiles;
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use pool::{ObjectId, PoolError};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use unit::{
    IoLatency, IoStatistics, LogEntry, OffloadClient, OffloadStatistics, Primitive, ReservationType, StoreError,
    VolumeId,
};
use uuid::Uuid;

/// Running target. All calls come from the thread that owns the pool; implementations must not call
/// back into `Control`.
pub trait Live {
    /// Publishes a durable change. `directory` is the state after the change; it is the same for
    /// all changes of one commit.
    fn publish(&self, change: &Change, directory: &Directory);
    /// Clears the commands of hosts on a volume whose content is about to be replaced. Ready when
    /// none of them can take effect any more.
    fn clear(&self, volume: ObjectId) -> LocalBoxFuture<'static, ()>;
    /// Removes the reservation and all registrations of a volume. Durable on return. Returns how many there were. On
    /// error nothing has changed, unless the pool stopped.
    fn clear_reservations(&self, volume: ObjectId) -> LocalBoxFuture<'static, Result<usize, StoreError>>;
    /// Gives a share the content of its snapshot, in a transaction of the share's file system: durable
    /// on return, and all or nothing. Files of clients that are not in the snapshot become stale.
    fn roll_back_share(
        &self,
        share: ObjectId,
        snapshot: ObjectId,
    ) -> LocalBoxFuture<'static, Result<(), ShareRollbackError>>;
    /// File systems of the shares; absent if the array serves no files.
    fn files(&self) -> Option<Rc<dyn LiveFiles>>;
    /// Ready when no command can take effect any more that the published changes forbid: commands
    /// on volumes that were revoked or rolled back.
    fn settled(&self) -> LocalBoxFuture<'static, ()>;
    /// Sessions in full feature phase, by number.
    fn sessions(&self) -> Vec<SessionInfo>;
    /// Drops a session and its connections. Returns false if no session has that number.
    fn drop_session(&self, id: u64) -> bool;
    /// Portals that accept connections, in the order of the configuration.
    fn portals(&self) -> Vec<Portal>;
    /// Sessions that began, ended (`None`), received commands or completed one of offload since the last call.
    fn take_changed_sessions(&self) -> Vec<(u64, Option<SessionInfo>)>;
    /// At most `most` clients of NFSv4, from a position on: 0, or that of an earlier part. `None` if NFS is not served.
    fn nfs_clients(&self, from: NfsPosition, most: usize) -> Option<NfsPart<NfsClientInfo>>;
    /// At most `most` locked ranges of files in a share or snapshot, or in all, from a position on: 0, or that of an
    /// earlier part. There may be fewer before the end. `None` if NFS is not served.
    fn nfs_locks(&self, of: Option<ObjectId>, from: NfsPosition, most: usize) -> Option<NfsPart<NfsLockInfo>>;
    /// Grace period of NFSv4; `None` if NFS is not served.
    fn nfs_grace(&self) -> Option<NfsGrace>;
    /// Addresses of the NFS server as hosts see them, `ADDRESS:PORT`; none if NFS is not served.
    fn nfs_portals(&self) -> Vec<String>;
    /// Position of the export rule of a share that decides about an address, among [`Directory::exports_of`]. `None`:
    /// no rule is about it, or NFS is not served.
    fn deciding_export(&self, share: ObjectId, address: IpAddr) -> Option<usize>;
    /// Position of the rule that would decide about each address if these were the rules of a share; `None` if none is
    /// about it.
    fn decide_exports(&self, rules: Vec<ExportRule>, addresses: &[IpAddr]) -> Vec<Option<usize>>;
    /// Addresses with open connections to the NFS server, in order; empty if NFS is not served.
    fn nfs_addresses(&self) -> Vec<IpAddr>;
    /// Revokes what a client of NFSv4 has. False if there is no such client; `None` if NFS is not served. Ready when
    /// nothing that the client asked for before can take effect any more.
    fn expire_nfs_client(&self, id: u64) -> Option<LocalBoxFuture<'static, bool>>;
    /// Statistics of a volume's unit or of a share since the start, and reservations.
    fn unit(&self, volume: ObjectId) -> UnitFacts;
    /// Takes at most `most` volumes and shares whose [`Live::unit`] may have changed since this last returned
    /// them.
    fn take_used_units(&self, most: usize) -> Vec<ObjectId>;
    /// Offload rows of recently deleted volumes and shares.
    fn deleted_offload(&self) -> Vec<OffloadRow>;
    /// Refusals in memory from this number on, oldest first.
    fn refusals(&self, since: u64) -> Vec<LogEntry>;
    /// Refusals that are new or have grown since the last call, by number; each replaces the one with its number.
    fn take_changed_refusals(&self) -> Vec<LogEntry>;
    /// Numbers of open connections and of ended ones by reason.
    fn connections(&self) -> ConnectionCounters;
    /// Refused logins since this last returned some.
    fn take_refused_logins(&self) -> Option<RefusedLogins>;
    /// Last login attempts, oldest first.
    fn logins(&self) -> Vec<Arc<LoginAttempt>>;
    /// Last login attempts, oldest first, if there is one since this last returned some.
    fn take_changed_logins(&self) -> Option<Vec<Arc<LoginAttempt>>>;
    /// SCSI commands received in the open sessions: a number that changes while hosts are active.
    /// Called often.
    fn commands(&self) -> u64;
    /// Sets or removes the limits of a policy. `shared`: its volumes share one allowance.
    fn set_policy(&self, policy: qos::PolicyId, limits: Option<(qos::Limits, bool)>);
    /// Attaches a volume to a policy, or to none.
    fn set_volume_policy(&self, volume: VolumeId, policy: Option<qos::PolicyId>);
    /// Attaches a host to a policy, or to none.
    fn set_host_policy(&self, host: qos::HostId, policy: Option<qos::PolicyId>);
    /// Delays and charged costs of all volumes and hosts that have a policy. It is one pass on the thread of hosts, so
    /// call it once for each refresh of the read model.
    fn held(&self) -> qos::Report;
    /// Reason why the pool stopped, if it did.
    fn pool_stopped(&self) -> Option<String>;
}

/// Reason why a share was not rolled back. Its content is as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShareRollbackError {
    /// The running array has not opened the share: it serves no files.
    NotOpen,
    /// The content of the snapshot is more than the quota allows.
    Quota,
    /// Error of the pool.
    Pool(PoolError),
}

/// Durable change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A volume was created; no initiator sees it yet.
    VolumeAdded {
        /// The volume.
        object: ObjectId,
    },
    /// A volume was deleted; no initiator saw it.
    VolumeRemoved {
        /// The volume.
        object: ObjectId,
    },
    /// A volume was renamed.
    VolumeRenamed {
        /// The volume.
        object: ObjectId,
    },
    /// A volume grew: unit attention CAPACITY DATA HAS CHANGED.
    VolumeResized {
        /// The volume.
        object: ObjectId,
        /// New size.
        size_bytes: u64,
    },
    /// A volume took over the content and size of its snapshot, possibly while in use: hosts must
    /// discard cached data.
    VolumeRolledBack {
        /// The volume.
        object: ObjectId,
        /// New size.
        size_bytes: u64,
    },
    /// A soft threshold was reached from below. It is reported again only after usage has fallen
    /// below it.
    ThresholdReached {
        /// Volume of the threshold; absent: threshold of the pool, which concerns every volume.
        object: Option<ObjectId>,
        /// Threshold level.
        level: Level,
    },
    /// The write cache was switched: unit attention MODE PARAMETERS CHANGED.
    WriteCacheChanged {
        /// The volume.
        object: ObjectId,
        /// True if on.
        enabled: bool,
    },
    /// An administrator changed thresholds, which a mode page shows: unit attention MODE PARAMETERS
    /// CHANGED.
    ThresholdsChanged {
        /// Volume of the thresholds; absent: those of the pool, which every volume shows.
        object: Option<ObjectId>,
    },
    /// A grant was added: unit attention REPORTED LUNS DATA HAS CHANGED for the sessions concerned.
    AccessGranted {
        /// The volume.
        object: ObjectId,
        /// Host; absent: every initiator.
        host: Option<Uuid>,
        /// Logical unit number.
        lun: u16,
    },
    /// A grant was revoked: its logical unit ends for the sessions concerned.
    AccessRevoked {
        /// The volume.
        object: ObjectId,
        /// Host; absent: every initiator.
        host: Option<Uuid>,
        /// Logical unit number.
        lun: u16,
    },
    /// Grants of a volume to host groups changed: the access of sessions of their hosts may differ.
    GroupAccessChanged {
        /// The volume.
        object: ObjectId,
    },
    /// Members of a host group changed: the access of sessions of its hosts may differ.
    HostGroupChanged {
        /// The group.
        group: Uuid,
    },
    /// A host was created, or its initiator names or credentials changed: the access of its
    /// sessions may differ. [`Directory::nexus`] has the new access.
    HostChanged {
        /// The host.
        host: Uuid,
    },
    /// A share was created; no host may use it yet.
    ShareAdded {
        /// The share.
        object: ObjectId,
    },
    /// A share was deleted; it had no export rules.
    ShareRemoved {
        /// The share.
        object: ObjectId,
    },
    /// Name, protocols, copy policy or epoch of a share changed, or it got or lost a snapshot.
    ShareChanged {
        /// The share.
        object: ObjectId,
    },
    /// Export rules of a share changed, or addresses of hosts that they are about:
    /// [`Directory::exports_of`] has the new ones.
    ExportsChanged {
        /// The share.
        object: ObjectId,
    },
    /// Target port groups are about to change their states: their ports answer TRANSITION. One of
    /// the next two changes follows.
    PortGroupTransitionBegins {
        /// The groups.
        groups: Vec<u16>,
    },
    /// The states are unchanged: unit attention IMPLICIT ASYMMETRIC ACCESS STATE TRANSITION FAILED.
    PortGroupTransitionFailed,
    /// States, members or redirections changed as in the directory: unit attention ASYMMETRIC
    /// ACCESS STATE CHANGED for the sessions concerned.
    PortGroupsChanged,
    /// A host was deleted; it had neither grants nor sessions.
    HostRemoved {
        /// The host.
        host: Uuid,
    },
}

/// Level of a soft threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Action is needed soon.
    Warning,
    /// Action is needed now.
    Critical,
}

/// Session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Number, unique since the start.
    pub id: u64,
    /// Name of the initiator.
    pub initiator: String,
    /// Portal of its leading connection.
    pub portal: SocketAddr,
    /// Relative target port identifier of that portal.
    pub target_port: u16,
    /// Remote address of that connection.
    pub peer_address: SocketAddr,
    /// Time at which it reached full feature phase.
    pub since: Timestamp,
    /// Arrival time of its last SCSI command.
    pub last_io: Option<Timestamp>,
    /// SCSI commands received.
    pub commands: u64,
    /// Data-In bytes sent.
    pub read_bytes: u64,
    /// Data-Out bytes received.
    pub written_bytes: u64,
    /// Largest TCP segment of its leading connection at the login, in bytes; absent if the system does not say.
    pub mss_bytes: Option<u32>,
    /// What initiator and array have agreed on.
    pub parameters: SessionParameters,
    /// What the host has looked at and used.
    pub seen: SessionSeen,
}

/// What the login of a session has negotiated (RFC 7143 §13); lengths in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionParameters {
    /// HeaderDigest=CRC32C.
    pub header_digest: bool,
    /// DataDigest=CRC32C.
    pub data_digest: bool,
    /// InitialR2T: data that was not asked for is forbidden.
    pub initial_r2t: bool,
    /// ImmediateData.
    pub immediate_data: bool,
    /// MaxRecvDataSegmentLength of the initiator.
    pub initiator_segment_bytes: u32,
    /// MaxRecvDataSegmentLength of the array.
    pub target_segment_bytes: u32,
    /// MaxBurstLength.
    pub max_burst_bytes: u32,
    /// FirstBurstLength.
    pub first_burst_bytes: u32,
    /// MaxOutstandingR2T.
    pub max_outstanding_r2t: u16,
}

/// Counters of connections to the portals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounters {
    /// Connections with a session of a host.
    pub with_session: u64,
    /// Connections without one: in login, or for discovery.
    pub without_session: u64,
    /// Largest number of sessions.
    pub max_sessions: u64,
    /// Largest number of connections without a session.
    pub max_without_session: u64,
    /// Connections closed to make room for others, since the start.
    pub displaced: u64,
    /// Logins refused, since the start.
    pub logins_failed: u64,
    /// Logins refused at the session limit, since the start.
    pub sessions_full: u64,
    /// Connections closed because the login timed out, since the start.
    pub login_timeouts: u64,
    /// Connections closed for a protocol error, since the start.
    pub protocol_errors: u64,
}

/// Refused logins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedLogins {
    /// Number of refused logins.
    pub count: u64,
    /// Initiator name that the last of them claimed.
    pub initiator: String,
    /// Its remote address.
    pub peer: SocketAddr,
    /// Reason for its refusal.
    pub reason: &'static str,
}

/// Registrations and reservation of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reservations {
    /// I_T nexuses registered by PERSISTENT RESERVE OUT, logged in or not.
    pub registrations: Vec<Registration>,
    /// Type of the persistent reservation, if there is one.
    pub reservation_type: Option<ReservationType>,
    /// APTPL: all this survives a power loss.
    pub persistent: bool,
    /// PRGENERATION.
    pub generation: u32,
    /// Holder of a RESERVE (6) reservation; its `key` is 0.
    pub reserved_by: Option<Registration>,
    /// Commands refused with RESERVATION CONFLICT since the start.
    pub conflicts: u64,
}

/// Registration of an I_T nexus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Initiator name.
    pub initiator: String,
    /// ISID.
    pub isid: u64,
    /// Relative target port identifier.
    pub target_port: u16,
    /// Reservation key.
    pub key: u64,
    /// True if it holds the reservation.
    pub holder: bool,
}

/// Network portal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portal {
    /// Listening address.
    pub listen: SocketAddr,
    /// `ADDRESS:PORT` for hosts: never an unspecified address.
    pub advertised: String,
}

/// Counters of one primitive on one volume or share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadRow {
    /// Destination volume, or share.
    pub volume: ObjectId,
    /// Its name; after its deletion, its last one.
    pub name: String,
    /// The primitive.
    pub primitive: Primitive,
    /// Counters.
    pub counters: OffloadStatistics,
}

/// Counters of one primitive on one share, of one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOffloadRow {
    /// Client.
    pub client: OffloadClient,
    /// The primitive.
    pub primitive: Primitive,
    /// Counters.
    pub counters: OffloadStatistics,
}

/// Counters of reads and writes of one volume or share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeCounters {
    /// The volume or share.
    pub volume: ObjectId,
    /// Numbers of reads and writes.
    pub io: IoStatistics,
    /// Commands in flight; 0 for a share.
    pub queue_depth: u64,
    /// Latencies of reads and writes.
    pub latency: IoLatency,
}

/// Statistics of a volume's unit or of a share since the start, and reservations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitFacts {
    /// Counters; absent until it is read or written.
    pub counters: Option<VolumeCounters>,
    /// Rows of the primitives that were used.
    pub offload: Vec<OffloadRow>,
    /// Rows of the primitives that each client of a share has used; empty for a volume.
    pub offload_by_client: Vec<ClientOffloadRow>,
    /// Registrations and reservation.
    pub reservations: Reservations,
}
