//! Events: what happened. Alerts: what needs attention now.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Something that happened. Ten thousand are kept, the newest two hundred over a restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Number; later events have larger ones, with gaps.
    pub id: u64,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// How bad.
    pub severity: Severity,
    /// Stable name of the kind of event, such as `volume-created`.
    pub code: String,
    /// What it is about, by name.
    pub subject: String,
    /// In words.
    pub message: String,
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Needs attention soon.
    Warning,
    /// Needs attention now.
    Critical,
}

/// Something that needs attention. It goes by itself when its cause is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Alert {
    /// Stable name of the condition, such as `pool-threshold`.
    pub code: String,
    /// How bad.
    pub severity: Severity,
    /// Pool or volume, by name.
    pub subject: String,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// In words.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// Which events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Only what came after the event of this number: the oldest of them. Without it, the newest of all.
    pub since: Option<u64>,
    /// At most this many, up to 10 000; 100 when left out.
    pub limit: Option<u32>,
}
