//! QoS policies: named limits of volumes and hosts.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// A QoS policy. Where several limits concern a command, each of them has to let it pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QosPolicy {
    /// Identity.
    pub id: Uuid,
    /// Unique name.
    pub name: String,
    /// Operations per second. A command counts as one for each 16 KiB, and as one at least; offloaded work counts as
    /// what the array does for it. Absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<u64>,
    /// Operations per second of a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_burst: Option<QosBurst>,
    /// Bytes per second, read and written together. Absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
    /// Bytes per second of a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_burst: Option<QosBurst>,
    /// Share beside others where there is less than all want; 100 is usual.
    pub weight: u32,
    /// True: its volumes share one allowance. False: each volume has its own. Each host always has its own.
    pub shared: bool,
    /// Names of its volumes, in order.
    pub volumes: Vec<String>,
    /// Names of its hosts, in order.
    pub hosts: Vec<String>,
    /// Delays and charged costs of its volumes and hosts, together. The costs of a command of one of its hosts for one
    /// of its volumes count twice, its delay once.
    pub held: QosHeld,
    /// Time of creation.
    #[schema(value_type = String, format = DateTime)]
    pub created: Timestamp,
}

/// More than a limit for a time, which is saved up while less is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QosBurst {
    /// Amount per second, above the limit.
    pub per_second: u64,
    /// Seconds for which a whole burst lasts, 1 to 3600.
    pub seconds: u32,
}

/// Delays by limits, and charged costs, since the policy was attached or the array started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QosHeld {
    /// Commands that have waited and then began.
    pub delayed_commands: u64,
    /// Time that they waited, together, in microseconds.
    pub delay_us: u64,
    /// Commands that wait now.
    pub waiting_commands: u64,
    /// Time that the oldest of them has waited, in microseconds.
    pub oldest_us: u64,
    /// Operations of reads and writes, also of those that did not wait.
    pub operations: u64,
    /// Bytes of reads and writes.
    pub bytes: u64,
    /// Operations of offloaded work.
    pub offload_operations: u64,
    /// Bytes that the array read and wrote for offloaded work.
    pub offload_bytes: u64,
}

/// Request to create a QoS policy. It has a limit, or a weight other than 100.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QosPolicyCreate {
    /// Unique name.
    pub name: String,
    /// Operations per second, at least 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<u64>,
    /// Operations per second of a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_burst: Option<QosBurst>,
    /// Bytes per second, at least 1 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
    /// Bytes per second of a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_burst: Option<QosBurst>,
    /// Share beside others, 10 to 1000. Default: 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// Its volumes share one allowance. Default: false.
    #[serde(default)]
    pub shared: bool,
}

/// Request to change a QoS policy. Omitted fields stay unchanged. The change holds at once, also for commands that
/// wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QosPolicySet {
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Operations per second, at least 100; 0: no limit, and no burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<u64>,
    /// Operations per second of a burst; 0 for 0 seconds: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_burst: Option<QosBurst>,
    /// Bytes per second, at least 1 MiB; 0: no limit, and no burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
    /// Bytes per second of a burst; 0 for 0 seconds: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_burst: Option<QosBurst>,
    /// Share beside others, 10 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// Its volumes share one allowance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<bool>,
}

/// Options for deleting a QoS policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QosPolicyDelete {
    /// Take it from its volumes and hosts too. Without this option, a policy that has some is not deleted.
    #[serde(default)]
    pub force: bool,
}

/// Volumes and hosts that get a QoS policy or lose theirs: all or none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QosMembers {
    /// Volumes, by name or id.
    #[serde(default)]
    pub volumes: Vec<String>,
    /// Hosts, by name or id.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// Numbers of volumes and hosts that had a QoS policy and lost it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QosDetached {
    /// Volumes.
    pub volumes: u64,
    /// Hosts.
    pub hosts: u64,
}
