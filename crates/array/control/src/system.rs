//! Status of the whole array.

pub(crate) mod certificates;
pub(crate) mod certificates_in_use;
mod https_alert;
pub(crate) mod https_fault;
pub(crate) mod management;
mod management_report;
pub(crate) mod record;

pub use certificates::CertificatesSet;
pub use certificates_in_use::{Certificate, CertificateUse};
pub use https_fault::HttpsFault;
pub use management::ManagementCondition;
pub use management_report::ManagementReport;
pub use record::ArrayRecord;

use crate::error::ControlError;
use crate::events::Severity;
use crate::events::view::AlertView;
use crate::facts::{Facts, PoolFacts};
use crate::jobs::view::{JobState, JobView};
use crate::live::OffloadRow;
use crate::pools::state::PoolState;
use crate::pools::{PoolView, count};
use crate::ports::portals::PortalView;
use crate::read::Read;
use jiff::Timestamp;
use uuid::Uuid;

/// Shows the status of the array.
#[derive(Clone, Debug)]
pub struct StatusShow;

/// Shows the health of the array.
#[derive(Clone, Debug)]
pub struct HealthShow;

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
