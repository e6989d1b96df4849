//! Dry runs: what a change would do.

use crate::{Problem, Warning};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Option of changes that delete, roll back, revoke or reclaim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DryRun {
    /// Say what the change would do (`Effect`, with status 200), and do not do it. Nothing is recorded in the audit.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a change would do in the present state of the array.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Effect {
    /// True if it would be made; otherwise `problem` says why not.
    pub allowed: bool,
    /// Bytes of the pool that become free: at once, or when the trash gives up what the change puts there. Absent if
    /// the change is not about space, if they cannot be known before, and while they are being counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frees_bytes: Option<u64>,
    /// Bytes of the pool that the change takes, apart from a few pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_bytes: Option<u64>,
    /// What stops working, or is gone afterwards, besides the object itself; at most 256 of them.
    pub breaks: Vec<Broken>,
    /// Consequences that need attention.
    pub warnings: Vec<Warning>,
    /// Reason why the change would be refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// Object that a change breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Broken {
    /// Kind: `access`, `file`, `host`, `host-group`, `initiator`, `job`, `registration`, `schedule`, `session`,
    /// `share`, `sign-in`, `snapshot` or `volume`.
    pub kind: String,
    /// Name, for people.
    pub name: String,
    /// What happens to it.
    pub why: String,
}
