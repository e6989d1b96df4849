//! QoS policies: named limits of volumes and hosts. This file lists and shows them; `edit.rs` creates, changes and
//! deletes them, `attach.rs` gives them to volumes and hosts, `part.rs` passes them on to the running target and
//! watches what waits for them.

mod attach;
mod edit;
pub(crate) mod error;
pub(crate) mod part;
pub(crate) mod record;
mod running;

pub use ::qos::Held;
pub use attach::{Detached, QosAttach, QosDetach};
pub use edit::{QosPolicyCreate, QosPolicyDelete, QosPolicySet};
pub use error::QosError;
pub use record::{Burst, QosPolicyRecord};

use crate::directory::Directory;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::hosts::record::HostRecord;
use crate::page::{Column, Listed, column};
use crate::read::Read;
use crate::volumes::record::VolumeRecord;
use running::{host_number, volume_number};
use uuid::Uuid;

/// Lists QoS policies by name.
#[derive(Clone, Debug, Default)]
pub struct QosPolicyList;

/// Shows one QoS policy.
#[derive(Clone, Debug)]
pub struct QosPolicyShow {
    /// Name or id.
    pub policy: String,
}

/// QoS policy with what has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QosPolicyView {
    /// Document of the policy.
    pub record: QosPolicyRecord,
    /// Names of its volumes, in order.
    pub volumes: Vec<String>,
    /// Names of its hosts, in order.
    pub hosts: Vec<String>,
    /// Delays and charged costs of its volumes and hosts, together. The costs of a command of one of its hosts for one
    /// of its volumes count twice, its delay once.
    pub held: Held,
}

/// QoS policy of a volume or host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limited {
    /// Name of the policy.
    pub policy: String,
    /// Delays by these limits, and charged costs, since the policy was attached or the array started.
    pub held: Held,
}

impl Read for QosPolicyList {
    type Reply = Vec<QosPolicyView>;
    const NAME: &'static str = "qos-policy-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<QosPolicyView>, ControlError> {
        self.all(facts)
    }
}

fn record<'a>(facts: &'a dyn Facts, id: &Uuid) -> Option<&'a QosPolicyRecord> {
    facts.directory().policy_by_id(*id)
}

impl Listed for QosPolicyList {
    type View = QosPolicyView;
    type Row = Uuid;
    const COLUMNS: &'static [Column<Uuid>] = &[
        column("name", |facts, id| record(facts, id).map(|policy| policy.name.as_str()).into()),
        column("created", |facts, id| record(facts, id).map(|policy| policy.created).into()),
    ];

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, Uuid)>, ControlError> {
        let policies = facts.directory().policies();
        let mut rows: Vec<(String, Uuid)> = policies.map(|policy| (policy.name.clone(), policy.id)).collect();
        rows.sort_unstable();
        Ok(rows)
    }

    fn texts(facts: &dyn Facts, id: &Uuid) -> Vec<String> {
        record(facts, id).map(|policy| vec![policy.name.clone()]).unwrap_or_default()
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<Uuid>) -> Vec<QosPolicyView> {
        rows.iter().filter_map(|id| record(facts, id)).map(|record| facts.policy_view(record)).collect()
    }
}

impl Read for QosPolicyShow {
    type Reply = QosPolicyView;
    const NAME: &'static str = "qos-policy-show";

    fn answer(&self, facts: &dyn Facts) -> Result<QosPolicyView, ControlError> {
        Ok(facts.policy_view(facts.directory().policy(&self.policy)?))
    }
}

impl dyn Facts + '_ {
    /// View of a policy.
    pub(crate) fn policy_view(&self, record: &QosPolicyRecord) -> QosPolicyView {
        let (directory, report) = (self.directory(), self.held());
        let of_volume = |volume: &VolumeRecord| report.volumes.get(&volume_number(volume)).copied();
        let of_host = |host: &HostRecord| report.hosts.get(&host_number(host.id)).copied();
        let of_volumes = directory.volumes_limited_by(record.id).filter_map(of_volume);
        let held = of_volumes.chain(directory.hosts_limited_by(record.id).filter_map(of_host));
        let (volumes, hosts) = users(directory, record.id);
        QosPolicyView { record: record.clone(), volumes, hosts, held: held.fold(Held::default(), sum) }
    }

    /// Policy of a volume.
    pub(crate) fn limited_volume(&self, volume: &VolumeRecord) -> Option<Limited> {
        let policy = self.directory().policy_by_id(volume.policy?)?.name.clone();
        let held = self.held().volumes.get(&volume_number(volume)).copied().unwrap_or_default();
        Some(Limited { policy, held })
    }

    /// Policy of a host.
    pub(crate) fn limited_host(&self, host: &HostRecord) -> Option<Limited> {
        let policy = self.directory().policy_by_id(host.policy?)?.name.clone();
        let held = self.held().hosts.get(&host_number(host.id)).copied().unwrap_or_default();
        Some(Limited { policy, held })
    }
}

/// Names of the volumes and hosts of a policy, each in order.
fn users(directory: &Directory, policy: Uuid) -> (Vec<String>, Vec<String>) {
    let mut volumes: Vec<String> = directory.volumes_limited_by(policy).map(|volume| volume.name.clone()).collect();
    let mut hosts: Vec<String> = directory.hosts_limited_by(policy).map(|host| host.name.clone()).collect();
    volumes.sort();
    hosts.sort();
    (volumes, hosts)
}

/// Sum of what was held back.
fn sum(one: Held, other: Held) -> Held {
    let (of_one, of_other) = (one.charged, other.charged);
    Held {
        commands: one.commands.saturating_add(other.commands),
        time: one.time.saturating_add(other.time),
        waiting: one.waiting.saturating_add(other.waiting),
        oldest: one.oldest.max(other.oldest),
        charged: qos::Charged {
            operations: of_one.operations.saturating_add(of_other.operations),
            bytes: of_one.bytes.saturating_add(of_other.bytes),
            offload_operations: of_one.offload_operations.saturating_add(of_other.offload_operations),
            offload_bytes: of_one.offload_bytes.saturating_add(of_other.offload_bytes),
        },
    }
}

/// Policy after a change: the present one if the change says nothing, else the one that it names, or none.
pub(crate) fn wanted_policy(
    directory: &Directory,
    present: Option<Uuid>,
    wanted: Option<&Option<String>>,
) -> Result<Option<Uuid>, ControlError> {
    match wanted {
        None => Ok(present),
        Some(None) => Ok(None),
        Some(Some(name)) => Ok(Some(directory.policy(name)?.id)),
    }
}

/// Words for a change of the policy.
pub(crate) fn policy_in_words(policy: &Option<String>) -> String {
    policy.as_ref().map_or_else(|| "no QoS policy".to_owned(), |policy| format!("QoS policy {policy}"))
}
