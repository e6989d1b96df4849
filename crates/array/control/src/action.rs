//! Everything an administrator can ask for.
//!
//! Objects are named by their name or their id; a snapshot also by `volume@snapshot`. The executing code is in the module of the noun.

use crate::{AccessState, Commitment, RedirectRecord, Secret};
use pool::Growth;

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
    /// Changes the settings of a pool.
    PoolSet(PoolSet),
    /// Makes a pool larger.
    PoolGrow {
        /// Its name.
        pool: String,
        /// How.
        growth: Growth,
    },
    /// Starts a job that reads and verifies everything that is stored.
    PoolScrub {
        /// Its name.
        pool: String,
        /// As in `VolumeReclaim`.
        share_percent: Option<u8>,
    },
    /// Starts a job that checks map, reference counts and counters.
    PoolCheck {
        /// Its name.
        pool: String,
        /// As in `VolumeReclaim`.
        share_percent: Option<u8>,
    },
    /// Starts a job that gives back stored zeros of all volumes.
    PoolReclaim {
        /// Its name.
        pool: String,
        /// As in `VolumeReclaim`.
        share_percent: Option<u8>,
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
    /// Changes name, size or settings of a volume.
    VolumeSet(VolumeSet),
    /// Where the space of a volume is, and where what hosts unmapped went.
    VolumeSpace {
        /// Name or id.
        volume: String,
    },
    /// Starts a job that gives back stored zeros.
    VolumeReclaim {
        /// Name or id.
        volume: String,
        /// Share of time in percent while hosts are active; absent: as configured.
        share_percent: Option<u8>,
    },
    /// Gives a volume the content of one of its snapshots.
    VolumeRollback(VolumeRollback),
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
    /// A volume, its snapshots, their clones, and so on.
    SnapshotTree {
        /// Name or id of the volume.
        volume: String,
    },
    /// Takes snapshots of several volumes at one instant.
    SnapshotGroup {
        /// Names or ids of the volumes.
        volumes: Vec<String>,
        /// Name that each of the snapshots has.
        name: String,
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
        /// Logical unit number 0 to 16383; the lowest free one when absent. Above 255, hosts have to understand flat space addressing.
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
    /// Network portals.
    PortalList,
    /// One portal.
    PortalShow {
        /// Its number (relative target port identifier), or the address it listens on.
        portal: String,
    },
    /// Changes group or redirection of a portal.
    PortalSet(PortalSet),
    /// Target port groups.
    PortGroupList,
    /// One target port group.
    PortGroupShow {
        /// Its number.
        group: u16,
    },
    /// Changes state or preference of a target port group.
    PortGroupSet(PortGroupSet),
    /// Jobs, the newest first.
    JobList,
    /// One job.
    JobShow {
        /// Its id, or as much of it as is unique.
        job: String,
    },
    /// Changes how fast a running job goes.
    JobSet {
        /// As in `JobShow`.
        job: String,
        /// Share of time in percent while hosts are active.
        share_percent: u8,
    },
    /// Ends a running job.
    JobCancel {
        /// As in `JobShow`.
        job: String,
    },
    /// What happened, oldest first.
    EventList {
        /// Only what came after the event of this number.
        since: Option<u64>,
        /// At most this many: the oldest after `since`, or the newest of all.
        limit: usize,
    },
    /// What needs attention now.
    AlertList,
}

/// A change of a portal; absent fields stay.
#[derive(Clone, Debug, Default)]
pub struct PortalSet {
    /// As in `PortalShow`.
    pub portal: String,
    /// Target port group, from 1.
    pub group: Option<u16>,
    /// `Some(None)`: logins are taken again.
    pub redirect: Option<Option<RedirectRecord>>,
    /// Also when hosts lose their last active path.
    pub force: bool,
}

/// A change of a target port group; absent fields stay.
#[derive(Clone, Debug, Default)]
pub struct PortGroupSet {
    /// Its number.
    pub group: u16,
    /// New state.
    pub state: Option<AccessState>,
    /// Hosts should use it before others in the same state.
    pub preferred: Option<bool>,
    /// Also when hosts lose their last active path.
    pub force: bool,
}

/// A change of a pool's settings; absent fields stay.
#[derive(Clone, Debug, Default)]
pub struct PoolSet {
    /// Its name.
    pub pool: String,
    /// Share in use, in percent, from which on it warns.
    pub warn_percent: Option<u8>,
    /// Share in use, in percent, from which on it is critical.
    pub critical_percent: Option<u8>,
    /// How much the volumes may have together.
    pub commitment: Option<Commitment>,
}

/// A return to a snapshot.
#[derive(Clone, Debug, Default)]
pub struct VolumeRollback {
    /// Name or id of the volume.
    pub volume: String,
    /// Name of one of its snapshots, or as in `SnapshotShow`.
    pub snapshot: String,
    /// Also while sessions see the volume.
    pub force: bool,
    /// A snapshot of this name is taken of what the volume has now.
    pub keep: Option<String>,
}

/// Whether space is kept free for a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// Its writes never fail for want of space.
    Thick,
    /// It takes what is there.
    Thin,
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
    /// Thin when absent.
    pub reserve: Option<Reserve>,
    /// Share of what snapshots and clones share with a thick volume that is kept free for it, 0 to 100 percent; 100 when absent.
    pub overwrite_reserve_percent: Option<u8>,
    /// Zeros in written data are not stored; on when absent.
    pub zero_detection: Option<bool>,
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
    /// Thick or thin.
    pub reserve: Option<Reserve>,
    /// As in `VolumeCreate`.
    pub overwrite_reserve_percent: Option<u8>,
    /// Detection of zeros on or off.
    pub zero_detection: Option<bool>,
    /// Share of its size, in percent, from which on an event is raised; `Some(None)`: never.
    pub warn_percent: Option<Option<u8>>,
    /// The same for critical; above `warn_percent`.
    pub critical_percent: Option<Option<u8>>,
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
