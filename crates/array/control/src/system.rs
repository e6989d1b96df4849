//! The array as a whole, and the counters of a scrape.

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

/// How long a scrape waits for counts of bytes.
const SCRAPE_PATIENCE: Duration = Duration::from_millis(200);

/// Answers when the array is alive, and does nothing.
#[derive(Clone, Debug)]
pub struct Ping;

/// The array on one screen.
#[derive(Clone, Debug)]
pub struct StatusShow;

/// Counters for a scrape.
#[derive(Clone, Debug)]
pub struct MetricsShow;

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
