//! Status of the whole array, and counters of a scrape.

mod https_alert;
pub(crate) mod https_fault;
pub(crate) mod management;
mod management_report;
pub(crate) mod record;

pub use https_fault::HttpsFault;
pub use management::ManagementCondition;
pub use management_report::ManagementReport;
pub use record::ArrayRecord;

use crate::error::ControlError;
use crate::events::Severity;
use crate::events::view::AlertView;
use crate::facts::{Facts, PoolFacts};
use crate::hosts::record::HostRecord;
use crate::jobs::view::{JobKind, JobState, JobView};
use crate::live::{ConnectionCounters, OffloadRow, Reservations, UnitFacts, VolumeCounters};
use crate::offload::OffloadView;
use crate::pools::state::PoolState;
use crate::pools::{PoolView, count};
use crate::ports::portals::PortalView;
use crate::read::Read;
use crate::shares::ShareRecord;
use crate::volumes::record::VolumeRecord;
use jiff::Timestamp;
use pool::{ObjectId, ObjectInfo};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Shows the status of the array.
#[derive(Clone, Debug)]
pub struct StatusShow;

/// Shows the health of the array.
#[derive(Clone, Debug)]
pub struct HealthShow;

/// Shows the counters of a scrape.
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
    /// Shares.
    pub shares: Vec<ShareMetrics>,
    /// Hosts.
    pub hosts: Vec<HostMetrics>,
    /// Offload rows, by volume and share.
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

/// Share in a scrape.
#[derive(Clone, Debug)]
pub struct ShareMetrics {
    /// Document.
    pub record: ShareRecord,
    /// Object.
    pub object: ObjectInfo,
    /// Counters; absent until it is read or written.
    pub counters: Option<VolumeCounters>,
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

impl Read for StatusShow {
    type Reply = StatusView;
    const NAME: &'static str = "status-show";

    fn answer(&self, facts: &dyn Facts) -> Result<StatusView, ControlError> {
        let (directory, alerts) = (facts.directory(), facts.alerts());
        Ok(StatusView {
            health: health(&facts.pool(), &alerts),
            array_id: directory.array().id,
            target: directory.target().to_owned(),
            started: facts.started(),
            uptime_seconds: u64::try_from(facts.now().duration_since(facts.started()).as_secs()).unwrap_or(0),
            portals: facts.portal_list(),
            pool: facts.pool_view(),
            hosts: count(directory.host_count()),
            sessions: count(facts.sessions().len()),
            offload: facts.offload_statistics().into_iter().map(|view| view.row).collect(),
            alerts,
            jobs: facts.jobs().into_iter().rev().filter(|job| job.state == JobState::Running).collect(),
        })
    }
}

impl Read for HealthShow {
    type Reply = Health;
    const NAME: &'static str = "health-show";

    fn answer(&self, facts: &dyn Facts) -> Result<Health, ControlError> {
        Ok(health(&facts.pool(), &facts.alerts()))
    }
}

impl Read for MetricsShow {
    type Reply = MetricsView;
    const NAME: &'static str = "metrics-show";

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        facts.counted_of_pool()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<MetricsView, ControlError> {
        let directory = facts.directory();
        let mut volumes = Vec::with_capacity(directory.volume_count());
        for record in directory.volumes_by_name() {
            let Some(object) = facts.object(record.object) else { continue };
            let UnitFacts { counters, reservations, .. } = facts.unit(record.object);
            volumes.push(VolumeMetrics {
                record: record.clone(),
                object,
                counters,
                reservations,
                unique_bytes: facts.unique_bytes(&[record.object]),
                snapshot_bytes: facts.snapshot_bytes(record.id),
            });
        }
        let share = |record: &ShareRecord| {
            Some(ShareMetrics {
                record: record.clone(),
                object: facts.object(record.object)?,
                counters: facts.unit(record.object).counters,
                unique_bytes: facts.unique_bytes(&[record.object]),
                snapshot_bytes: facts.snapshot_bytes(record.id),
            })
        };
        let mut sessions: BTreeMap<Uuid, BTreeMap<String, u64>> = BTreeMap::new();
        for session in facts.sessions() {
            if let Some(host) = directory.host_of(&session.initiator) {
                *sessions.entry(host.id).or_default().entry(session.portal.to_string()).or_default() += 1;
            }
        }
        let host = |host: &HostRecord| HostMetrics {
            name: host.name.clone(),
            sessions: sessions.remove(&host.id).unwrap_or_default().into_iter().collect(),
        };
        let mut hosts: Vec<HostMetrics> = directory.hosts().map(host).collect();
        hosts.sort_by(|one, other| one.name.cmp(&other.name));
        let jobs = facts.jobs();
        let running = |kind| jobs.iter().filter(|job| job.kind == kind && job.state == JobState::Running).count();
        Ok(MetricsView {
            pool: facts.pool_view(),
            volumes,
            shares: directory.shares_by_name().filter_map(share).collect(),
            hosts,
            offload: facts.offload_statistics(),
            connections: facts.connections(),
            jobs: JobKind::ALL.map(|kind| (kind, count(running(kind)))).to_vec(),
            alerts: facts.alerts(),
        })
    }
}

/// Health of the array.
fn health(pool: &PoolFacts, alerts: &[AlertView]) -> Health {
    match pool.state {
        PoolState::Stopped => Health::Failed,
        PoolState::Full | PoolState::BelowFull | PoolState::Damaged => Health::Degraded,
        PoolState::Healthy | PoolState::LowSpace if alerts.iter().any(|alert| alert.severity == Severity::Critical) => {
            Health::Degraded
        }
        PoolState::Healthy | PoolState::LowSpace => Health::Healthy,
    }
}
