//! Status of the whole array, and counters of a scrape.

use crate::record::Document;
use serde::{Deserialize, Serialize};
use crate::pools::count;
use crate::{
    AlertView, ConnectionCounters, Control, ControlError, JobKind, JobState, JobView, OffloadRow, OffloadView,
    PoolState, PoolView, PortalView, Request, Reservations, Severity, VolumeCounters, VolumeRecord,
};
use jiff::Timestamp;
use pool::{ObjectId, ObjectInfo};
use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

/// Identity of the array, created at its first start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayRecord {
    /// Random id; part of every designator.
    pub id: Uuid,
    /// Creation time.
    pub created: Timestamp,
}

impl Document for ArrayRecord {
    const PREFIX: &'static str = "array";
    fn key(&self) -> String {
        Self::PREFIX.to_owned()
    }
}

/// How long a scrape waits for counts of bytes.
const SCRAPE_PATIENCE: Duration = Duration::from_millis(200);

/// Answers when the array is alive, and does nothing.
#[derive(Clone, Debug)]
pub struct Ping;

/// Shows the status of the array.
#[derive(Clone, Debug)]
pub struct StatusShow;

/// Counters for a scrape.
#[derive(Clone, Debug)]
pub struct MetricsShow;

/// Status of the array.
#[derive(Clone, Debug)]
pub struct StatusView {
    /// Health of the array.
    pub health: Health,
    /// Id of the array.
    pub array_id: Uuid,
    /// Name of the iSCSI target.
    pub target: String,
    /// Time at which `control` was opened.
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
    /// Active alerts.
    pub alerts: Vec<AlertView>,
    /// Running jobs.
    pub jobs: Vec<JobView>,
}

/// Health of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Everything serves.
    Healthy,
    /// A critical condition holds: the pool is full or nearly full, or content was lost.
    Degraded,
    /// The pool has stopped.
    Failed,
}

/// Data of a scrape.
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
    /// Active alerts.
    pub alerts: Vec<AlertView>,
}

/// Volume in a scrape.
#[derive(Clone, Debug)]
pub struct VolumeMetrics {
    /// Document.
    pub record: VolumeRecord,
    /// Object.
    pub object: ObjectInfo,
    /// Counters; absent until it is read or written.
    pub counters: Option<VolumeCounters>,
    /// Registrations and reservation.
    pub reservations: Reservations,
    /// Bytes that deleting it would free, as last counted.
    pub unique_bytes: Option<u64>,
    /// Bytes that deleting its snapshots would free, as last counted.
    pub snapshot_bytes: Option<u64>,
}

/// Host in a scrape.
#[derive(Clone, Debug)]
pub struct HostMetrics {
    /// Name.
    pub name: String,
    /// Sessions by portal.
    pub sessions: Vec<(String, u64)>,
}

impl Request for Ping {
    type Reply = ();
    const NAME: &'static str = "ping";

    async fn run(&self, _control: &Control) -> Result<(), ControlError> {
        Ok(())
    }
}

impl Request for StatusShow {
    type Reply = StatusView;
    const NAME: &'static str = "status-show";

    async fn run(&self, control: &Control) -> Result<StatusView, ControlError> {
        let pool = control.pool();
        let alerts = control.alerts();
        let jobs = control.job_list().into_iter().filter(|job| job.state == JobState::Running).collect();
        let directory = control.directory();
        let uptime = control.environment.now().duration_since(control.started);
        Ok(StatusView {
            health: match pool.state {
                PoolState::Stopped => Health::Failed,
                PoolState::Full | PoolState::Damaged => Health::Degraded,
                PoolState::Healthy if alerts.iter().any(|alert| alert.severity == Severity::Critical) => {
                    Health::Degraded
                }
                PoolState::Healthy => Health::Healthy,
            },
            array_id: directory.array.id,
            target: directory.target.clone(),
            started: control.started,
            uptime_seconds: u64::try_from(uptime.as_secs()).unwrap_or(0),
            portals: control.portal_list(),
            pool,
            hosts: count(directory.hosts.len()),
            sessions: count(control.live.sessions().len()),
            offload: control.live.offload_statistics(),
            alerts,
            jobs,
        })
    }
}

impl Request for MetricsShow {
    type Reply = MetricsView;
    const NAME: &'static str = "metrics-show";

    async fn run(&self, control: &Control) -> Result<MetricsView, ControlError> {
        let mut patience = control.patience_of(SCRAPE_PATIENCE);
        let pool = control.counted_pool(&mut patience).await;
        let records: Vec<VolumeRecord> = control.directory().volumes.values().cloned().collect();
        let mut volumes = Vec::with_capacity(records.len());
        for record in records {
            let Some((object, unique_bytes)) = control.space_of(record.object, &mut patience).await else { continue };
            let snapshot_bytes = control.snapshot_bytes(record.id, &mut patience).await;
            let reservations = control.live.reservations(record.object);
            volumes.push(VolumeMetrics { record, object, counters: None, reservations, unique_bytes, snapshot_bytes });
        }
        let mut counters: BTreeMap<ObjectId, VolumeCounters> =
            control.live.volume_counters().into_iter().map(|counters| (counters.volume, counters)).collect();
        for volume in &mut volumes {
            volume.counters = counters.remove(&volume.record.object);
        }
        volumes.sort_by(|one, other| one.record.name.cmp(&other.record.name));
        let directory = control.directory();
        let sessions = control.live.sessions();
        let mut hosts: Vec<HostMetrics> = directory
            .hosts
            .values()
            .map(|host| {
                let mut portals: BTreeMap<String, u64> = BTreeMap::new();
                for session in &sessions {
                    if host.iqns.contains(&session.initiator.to_ascii_lowercase()) {
                        *portals.entry(session.portal.to_string()).or_default() += 1;
                    }
                }
                HostMetrics { name: host.name.clone(), sessions: portals.into_iter().collect() }
            })
            .collect();
        hosts.sort_by(|one, other| one.name.cmp(&other.name));
        let offload = control.offload_statistics(None).unwrap_or_default();
        let (jobs, alerts) = (control.jobs.running(), control.alerts());
        let connections = control.live.connections();
        Ok(MetricsView { pool, volumes, hosts, offload, connections, jobs, alerts })
    }
}
