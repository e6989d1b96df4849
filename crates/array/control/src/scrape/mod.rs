//! Counters of a scrape: of the whole array, and of each volume and share.

pub(crate) mod totals;
mod volumes;

pub use totals::{HeldTotals, IoTotals, Totals};
pub use volumes::{ShareMetrics, VolumeMetrics, VolumeMetricsShow, VolumeMetricsView};

use crate::error::ControlError;
use crate::events::view::AlertView;
use crate::facts::Facts;
use crate::hosts::record::HostRecord;
use crate::jobs::view::{JobKind, JobState};
use crate::live::ConnectionCounters;
use crate::pools::{PoolView, count};
use crate::read::Read;
use jiff::Timestamp;
use pool::ObjectId;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Shows the counters of the whole array. Their number does not depend on that of volumes and shares.
#[derive(Clone, Debug)]
pub struct MetricsShow;

/// Counters of the whole array.
#[derive(Clone, Debug)]
pub struct MetricsView {
    /// Time at which `control` was opened.
    pub started: Timestamp,
    /// The pool.
    pub pool: PoolView,
    /// Hosts.
    pub hosts: Vec<HostMetrics>,
    /// What hosts did.
    pub totals: Totals,
    /// Connections to the portals.
    pub connections: ConnectionCounters,
    /// Number of running jobs of each kind.
    pub jobs: Vec<(JobKind, u64)>,
    /// Active alerts.
    pub alerts: Vec<AlertView>,
}

/// Host in a scrape.
#[derive(Clone, Debug)]
pub struct HostMetrics {
    /// Name.
    pub name: String,
    /// Sessions by portal.
    pub sessions: Vec<(String, u64)>,
}

impl Read for MetricsShow {
    type Reply = MetricsView;
    const NAME: &'static str = "metrics-show";

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        facts.counted_of_pool()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<MetricsView, ControlError> {
        let jobs = facts.jobs();
        let running = |kind| jobs.iter().filter(|job| job.kind == kind && job.state == JobState::Running).count();
        Ok(MetricsView {
            started: facts.started(),
            pool: facts.pool_view(),
            hosts: hosts(facts),
            totals: facts.totals(),
            connections: facts.connections(),
            jobs: JobKind::ALL.map(|kind| (kind, count(running(kind)))).to_vec(),
            alerts: facts.alerts(),
        })
    }
}

/// Hosts by name, with their sessions.
fn hosts(facts: &dyn Facts) -> Vec<HostMetrics> {
    let directory = facts.directory();
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
    hosts
}
