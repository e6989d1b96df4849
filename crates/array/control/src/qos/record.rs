//! Documents of QoS policies.

use crate::record::Document;
use jiff::Timestamp;
use qos::{Limits, PolicyId, Rate};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use uuid::Uuid;

/// Named set of limits, which volumes and hosts have by its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QosPolicyRecord {
    /// Id.
    pub id: Uuid,
    /// Unique name.
    pub name: String,
    /// Operations per second. A command counts as one for each 16 KiB, and as one at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<u64>,
    /// Operations per second of a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_burst: Option<Burst>,
    /// Bytes per second, read and written together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
    /// Bytes per second of a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_burst: Option<Burst>,
    /// Share beside others where there is less than all want.
    pub weight: u32,
    /// True if its volumes share one allowance; false: each has its own.
    pub shared: bool,
    /// Creation time.
    pub created: Timestamp,
}

/// More than a limit for a time, which is saved up while less is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Amount per second.
    pub per_second: u64,
    /// Seconds for which a whole burst lasts.
    pub seconds: u32,
}

impl QosPolicyRecord {
    /// The policy in the running target.
    pub(crate) const fn number(&self) -> PolicyId {
        policy_number(self.id)
    }

    /// Its limits.
    pub(crate) fn limits(&self) -> Limits {
        let rate = |per_second: Option<u64>, burst: Option<Burst>| {
            let burst = burst.map(|Burst { per_second, seconds }| qos::Burst {
                per_second,
                lasts: Duration::from_secs(u64::from(seconds)),
            });
            per_second.map(|per_second| Rate { per_second, burst })
        };
        Limits {
            operations: rate(self.iops, self.iops_burst),
            bytes: rate(self.bytes_per_second, self.bytes_burst),
            weight: self.weight,
        }
    }
}

/// Number of a policy in the running target: the random half of its id.
pub(crate) const fn policy_number(id: Uuid) -> PolicyId {
    PolicyId(id.as_u64_pair().1)
}

impl Document for QosPolicyRecord {
    const PREFIX: &'static str = "qos-policy/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.id)
    }
}
