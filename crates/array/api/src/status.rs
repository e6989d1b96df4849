//! The array as a whole.

use crate::{Alert, Job, Pool, Portal};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// Choice of the volumes and shares of a scrape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct MetricsQuery {
    /// True: only volumes and shares that hosts have used since the array started.
    #[serde(default)]
    pub active: bool,
}

/// Summary of the array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// Health of the array.
    pub health: Health,
    /// Version of the program.
    pub version: String,
    /// Identity of the array; part of the names of its logical units.
    pub array_id: Uuid,
    /// Name of the iSCSI target.
    pub target: String,
    /// Time of the start.
    #[schema(value_type = String, format = DateTime)]
    pub started: Timestamp,
    /// Seconds since the start.
    pub uptime_seconds: u64,
    /// Network portals.
    pub portals: Vec<Portal>,
    /// Pools.
    pub pools: Vec<Pool>,
    /// Number of volumes.
    pub volumes: u64,
    /// Number of snapshots.
    pub snapshots: u64,
    /// Number of hosts.
    pub hosts: u64,
    /// Number of iSCSI sessions.
    pub sessions: u64,
    /// Offload statistics, summed over all volumes.
    pub offload: Vec<OffloadTotal>,
    /// Active alerts, the most severe first.
    #[serde(default)]
    pub alerts: Vec<Alert>,
    /// Running jobs.
    #[serde(default)]
    pub jobs: Vec<Job>,
}

/// Health of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// All parts serve I/O. Alerts may warn, for example of low space.
    Healthy,
    /// A critical condition holds: see the alerts.
    Degraded,
    /// The pool has stopped.
    Failed,
}

/// Statistics of one primitive over all volumes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OffloadTotal {
    /// `ats`, `xcopy`, `zero` or `unmap`.
    pub primitive: String,
    /// Commands received.
    pub commands: u64,
    /// Commands refused.
    pub refused: u64,
    /// Commands that failed inside the array.
    #[serde(default)]
    pub errors: u64,
    /// Bytes that hosts did not have to transfer.
    pub host_bytes_avoided: u64,
}
