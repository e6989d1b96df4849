//! Facts from which reads are answered. A [`Read`](crate::Read) uses nothing else, so any owner of
//! the facts can answer it: the mirror on the management plane's thread, and [`Control`](crate::Control) itself,
//! which ends each change with a view of the changed object.

mod now;

use crate::directory::Directory;
use crate::events::Event;
use crate::events::view::{AlertView, EventFilter};
use crate::jobs::view::JobView;
use crate::live::{ConnectionCounters, LoginAttempt, OffloadRow, Portal, SessionInfo, UnitFacts};
use crate::pools::limits::Limits;
use crate::pools::record::{CheckRecord, ScrubRecord};
use crate::pools::state::PoolState;
use crate::samples::ring::Samples;
use crate::scrape::totals::Totals;
use jiff::Timestamp;
use pool::{Growth, ObjectId, ObjectInfo, PoolSpace};
use std::sync::Arc;
use unit::LogEntry;
use uuid::Uuid;

/// State of the array at one instant, as far as replies need it.
pub trait Facts {
    /// Names, hosts and access.
    fn directory(&self) -> &Directory;
    /// Time at which `control` was opened.
    fn started(&self) -> Timestamp;
    /// Present time of the facts.
    fn now(&self) -> Timestamp;
    /// Portals that accept connections, in the order of the configuration.
    fn portals(&self) -> &[Portal];
    /// Addresses of the NFS server as hosts see them, `ADDRESS:PORT`; none if NFS is not served.
    fn nfs_portals(&self) -> Vec<String>;
    /// Object of a volume, share or snapshot.
    fn object(&self, id: ObjectId) -> Option<ObjectInfo>;
    /// Bytes that deleting these objects together would free, as last counted.
    fn unique_bytes(&self, objects: &[ObjectId]) -> Option<u64>;
    /// Objects that only copy tokens keep.
    fn captures(&self) -> Vec<ObjectId>;
    /// State of the pool.
    fn pool(&self) -> PoolFacts;
    /// Name of the pool of a volume, share or snapshot.
    fn pool_name(&self) -> &str;
    /// Statistics and reservations of a volume's unit, or statistics of a share; empty if there is none.
    fn unit(&self, volume: ObjectId) -> UnitFacts;
    /// Offload rows of recently deleted volumes and shares.
    fn deleted_offload(&self) -> Vec<OffloadRow>;
    /// What hosts did since the start, in all. Only the mirror knows it of deleted volumes and shares.
    fn totals(&self) -> Totals;
    /// Refused commands in memory with a sequence number of at least `since`, oldest first.
    fn refusals(&self, since: u64) -> Vec<LogEntry>;
    /// Sessions in full feature phase, by number.
    fn sessions(&self) -> &[SessionInfo];
    /// Last login attempts, oldest first.
    fn logins(&self) -> Vec<Arc<LoginAttempt>>;
    /// Numbers of open connections and of ended ones by reason.
    fn connections(&self) -> ConnectionCounters;
    /// Delays and charged costs of the volumes and hosts that have a policy.
    fn held(&self) -> &qos::Report;
    /// Jobs, oldest first.
    fn jobs(&self) -> Vec<JobView>;
    /// Events that match the filter: the oldest `limit` after `since`, or the newest `limit`;
    /// oldest first.
    fn events(&self, since: Option<u64>, filter: &EventFilter, limit: usize) -> Vec<Arc<Event>>;
    /// Active alerts, most severe first.
    fn alerts(&self) -> Vec<AlertView>;
    /// Activity of hosts in the last minutes; only the mirror has it.
    fn samples(&self) -> Option<&Samples>;
}

/// State of a pool without counted values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolFacts {
    /// Name.
    pub name: String,
    /// State: whether it serves and has space.
    pub state: PoolState,
    /// Reason why it stopped, if it did.
    pub stopped: Option<String>,
    /// Space.
    pub space: PoolSpace,
    /// Thresholds and limit in force.
    pub limits: Limits,
    /// Seconds for which the trash keeps what is deleted.
    pub trash_seconds: u32,
    /// Seconds for which nobody deletes for good what goes to the trash; 0: it has no lock.
    pub trash_lock_seconds: u32,
    /// 99th percentile of reads and writes of hosts above which they are slow, in microseconds; absent: no limit.
    pub latency_alert_us: Option<u32>,
    /// Result of the last scrub.
    pub scrub: Option<ScrubRecord>,
    /// Result of the last check.
    pub check: Option<CheckRecord>,
    /// Growth in progress.
    pub growing: Option<Growth>,
}

impl dyn Facts + '_ {
    /// URL `iscsi://ADDRESS:PORT/TARGET/LUN` at the first portal.
    pub(crate) fn iscsi_url(&self, lun: u16) -> String {
        let address = self.portals().first().map_or("", |portal| portal.advertised.as_str());
        format!("iscsi://{address}/{}/{lun}", self.directory().target())
    }

    /// Bytes that only copy tokens keep, as last counted.
    pub(crate) fn token_bytes(&self) -> Option<u64> {
        let captures = self.captures();
        if captures.is_empty() { Some(0) } else { self.unique_bytes(&captures) }
    }

    /// Sets of objects counted for a volume or share: itself, and all its snapshots together.
    pub(crate) fn counted_of(&self, object: ObjectId, id: Uuid) -> impl Iterator<Item = Vec<ObjectId>> + use<> {
        let snapshots = Some(self.directory().snapshot_objects(id)).filter(|snapshots| !snapshots.is_empty());
        [vec![object]].into_iter().chain(snapshots)
    }

    /// Objects of a volume or share and of its snapshots, sorted by id.
    pub(crate) fn content_objects(&self, object: ObjectId, id: Uuid) -> Vec<ObjectId> {
        let mut objects = self.directory().snapshot_objects(id);
        objects.push(object);
        objects.sort_unstable();
        objects
    }

    /// Sets of objects counted for the pool: those of its volumes and shares, all captures together, and all in the
    /// trash together.
    pub(crate) fn counted_of_pool(&self) -> Vec<Vec<ObjectId>> {
        let captures = Some(self.captures()).filter(|captures| !captures.is_empty());
        let volumes = self.directory().volumes().flat_map(|volume| self.counted_of(volume.object, volume.id));
        let shares = self.directory().shares().flat_map(|share| self.counted_of(share.object, share.id));
        let trash = Some(self.directory().trash_objects()).filter(|trash| !trash.is_empty());
        volumes.chain(shares).chain(captures).chain(trash).collect()
    }

    /// Bytes that deleting all snapshots of a volume or share together would free, as last counted.
    pub(crate) fn snapshot_bytes(&self, source: Uuid) -> Option<u64> {
        let snapshots = self.directory().snapshot_objects(source);
        if snapshots.is_empty() { Some(0) } else { self.unique_bytes(&snapshots) }
    }
}
