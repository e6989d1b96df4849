//! Everything an administrator can ask for.
//!
//! Objects are named by their name or their id; a snapshot also by `volume@snapshot`. The executing code is in the module of the noun.

use crate::Secret;

/// A request. Reads change nothing; the others are durable before the reply.
#[derive(Clone, Debug)]
pub enum Action {
    /// Answers when the array is alive, and does nothing.
    Ping,
    /// The array on one screen.
    Status,
    /// Counters for a scrape.
    Metrics,
    /// Every pool.
    PoolList,
    /// One pool.
    PoolShow {
        /// Its name.
        pool: String,
    },
    /// Every volume, by name.
    VolumeList,
    /// One volume.
    VolumeShow {
        /// Name or id.
        volume: String,
    },
    /// A new volume, empty or cloned.
    VolumeCreate(VolumeCreate),
    /// Renames a volume, grows it, switches its write cache.
    VolumeSet(VolumeSet),
    /// Deletes a volume that nobody uses.
    VolumeDelete {
        /// Name or id.
        volume: String,
        /// Its snapshots go too; otherwise a volume that has some stays.
        with_snapshots: bool,
    },
    /// Snapshots, by volume and name.
    SnapshotList {
        /// Only those of this volume.
        volume: Option<String>,
    },
    /// One snapshot.
    SnapshotShow {
        /// `volume@name`, id, or a name that only one volume's snapshot has.
        snapshot: String,
    },
    /// Takes a snapshot.
    SnapshotCreate {
        /// Name or id of the volume.
        volume: String,
        /// Name of the snapshot, unique within the volume.
        name: String,
    },
    /// Deletes a snapshot.
    SnapshotDelete {
        /// As in `SnapshotShow`.
        snapshot: String,
    },
    /// Every host, by name.
    HostList,
    /// One host.
    HostShow {
        /// Name or id.
        host: String,
    },
    /// A new host.
    HostCreate(HostCreate),
    /// Changes a host.
    HostSet(HostSet),
    /// Deletes a host that has neither access nor sessions.
    HostDelete {
        /// Name or id.
        host: String,
    },
    /// Grants, by volume and host.
    AccessList {
        /// Only those of this volume.
        volume: Option<String>,
        /// Only those of this grantee.
        grantee: Option<Grantee>,
    },
    /// Lets a host see a volume.
    AccessGrant {
        /// Name or id.
        volume: String,
        /// Who.
        grantee: Grantee,
        /// Logical unit number 0 to 255; the lowest free one when absent.
        lun: Option<u16>,
    },
    /// Takes it back.
    AccessRevoke {
        /// Name or id.
        volume: String,
        /// From whom.
        from: Revoke,
    },
    /// What each primitive did.
    OffloadStatistics {
        /// Only this volume.
        volume: Option<String>,
    },
    /// Commands that were refused, oldest first.
    OffloadLog {
        /// Only those of this volume.
        volume: Option<String>,
        /// At most this many, the newest.
        limit: usize,
    },
    /// Every session.
    SessionList,
    /// Drops a session; the initiator may come back.
    SessionDrop {
        /// Its number.
        id: u64,
    },
    /// Network portals.
    PortalList,
}

/// A new volume.
#[derive(Clone, Debug, Default)]
pub struct VolumeCreate {
    /// Unique name.
    pub name: String,
    /// Needed unless `source` is given; a clone may be larger than its source.
    pub size_bytes: Option<u64>,
    /// Volume or snapshot to clone.
    pub source: Option<String>,
    /// Acknowledge writes before they are durable.
    pub write_cache: bool,
}

/// A change of a volume; absent fields stay.
#[derive(Clone, Debug, Default)]
pub struct VolumeSet {
    /// Name or id.
    pub volume: String,
    /// New name.
    pub name: Option<String>,
    /// New size, not smaller than now.
    pub size_bytes: Option<u64>,
    /// Write cache on or off.
    pub write_cache: Option<bool>,
}

/// A new host.
#[derive(Clone, Debug, Default)]
pub struct HostCreate {
    /// Unique name.
    pub name: String,
    /// Initiator names.
    pub iqns: Vec<String>,
    /// Demand CHAP.
    pub chap: Option<ChapSet>,
}

/// A change of a host; absent fields stay.
#[derive(Clone, Debug, Default)]
pub struct HostSet {
    /// Name or id.
    pub host: String,
    /// New name.
    pub name: Option<String>,
    /// All initiator names.
    pub iqns: Option<Vec<String>>,
    /// `Some(None)`: no longer demand CHAP.
    pub chap: Option<Option<ChapSet>>,
}

/// CHAP credentials asked for.
#[derive(Clone, Debug)]
pub struct ChapSet {
    /// Name the host presents.
    pub user: String,
    /// Absent: make one.
    pub secret: Option<Secret>,
    /// The array authenticates too.
    pub mutual: Option<MutualChapSet>,
}

/// CHAP credentials of the array asked for.
#[derive(Clone, Debug)]
pub struct MutualChapSet {
    /// Name the array presents.
    pub user: String,
    /// Absent: make one.
    pub secret: Option<Secret>,
}

/// Who is granted access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grantee {
    /// A host, by name or id.
    Host(String),
    /// Every initiator.
    Any,
}

/// Which grants to take back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revoke {
    /// This one.
    From(Grantee),
    /// All of the volume's.
    All,
}
