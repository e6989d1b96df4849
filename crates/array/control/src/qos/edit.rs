//! `qos create`, `set` and `delete`.

use super::error::QosError;
use super::record::{Burst, QosPolicyRecord};
use super::{QosPolicyView, users};
use crate::condition::{Noun, User, UserKind};
use crate::control::Control;
use crate::difference::Difference;
use crate::directory::Edit;
use crate::effect::{Rehearsal, Rehearsed};
use crate::environment::new_id;
use crate::error::ControlError;
use crate::events::Draft;
use crate::names::check_name;
use crate::record::Document;
use crate::request::{Outcome, Request};
use qos::{DEFAULT_WEIGHT, Limits};

/// Largest number of policies.
const MAX_POLICIES: usize = 1024;
/// Name that no policy has: in paths, it is a verb.
const DETACH: &str = "detach";

/// Creates a QoS policy. Repeating the request has no effect.
#[derive(Clone, Debug, Default)]
pub struct QosPolicyCreate {
    /// Unique name.
    pub name: String,
    /// Operations per second.
    pub iops: Option<u64>,
    /// Operations per second of a burst.
    pub iops_burst: Option<Burst>,
    /// Bytes per second.
    pub bytes_per_second: Option<u64>,
    /// Bytes per second of a burst.
    pub bytes_burst: Option<Burst>,
    /// Share beside others; 100 if absent.
    pub weight: Option<u32>,
    /// True if its volumes share one allowance.
    pub shared: bool,
}

/// Changes a QoS policy; absent fields keep their values. It holds at once, also for commands that wait.
#[derive(Clone, Debug, Default)]
pub struct QosPolicySet {
    /// Name or id.
    pub policy: String,
    /// New name.
    pub name: Option<String>,
    /// Operations per second; `Some(None)`: no limit, and no burst.
    pub iops: Option<Option<u64>>,
    /// Operations per second of a burst; `Some(None)`: none.
    pub iops_burst: Option<Option<Burst>>,
    /// Bytes per second; `Some(None)`: no limit, and no burst.
    pub bytes_per_second: Option<Option<u64>>,
    /// Bytes per second of a burst; `Some(None)`: none.
    pub bytes_burst: Option<Option<Burst>>,
    /// Share beside others.
    pub weight: Option<u32>,
    /// True if its volumes share one allowance.
    pub shared: Option<bool>,
}

/// Deletes a QoS policy. The reply is its name.
#[derive(Clone, Debug, Default)]
pub struct QosPolicyDelete {
    /// Name or id.
    pub policy: String,
    /// True to take it from its volumes and hosts; otherwise it must have none.
    pub force: bool,
}

impl Request for QosPolicyCreate {
    type Reply = Outcome<QosPolicyView>;
    const NAME: &'static str = "qos-policy-create";

    async fn run(&self, control: &Control) -> Result<Outcome<QosPolicyView>, ControlError> {
        check_policy_name(&self.name)?;
        let _changes = control.lock_changes().await;
        let record = QosPolicyRecord {
            id: new_id(&**control.environment()),
            name: self.name.clone(),
            iops: self.iops,
            iops_burst: self.iops_burst,
            bytes_per_second: self.bytes_per_second,
            bytes_burst: self.bytes_burst,
            weight: self.weight.unwrap_or(DEFAULT_WEIGHT),
            shared: self.shared,
            created: control.environment().now(),
        };
        check_limits(&record)?;
        let existing = control.directory().policy(&self.name).ok().cloned();
        if let Some(existing) = existing {
            if (existing.limits(), existing.shared) != (record.limits(), record.shared) {
                let (name, difference) = (existing.name, Some(Difference::Limits));
                return Err(ControlError::Exists { noun: Noun::QosPolicy, name, difference });
            }
            return Ok(Outcome::unchanged(control.see(|facts| facts.policy_view(&existing))));
        }
        if control.directory().policy_count() >= MAX_POLICIES {
            return Err(ControlError::InvalidSetting(format!("an array has at most {MAX_POLICIES} QoS policies")));
        }
        control.commit(vec![record.put()?], vec![record.clone().into()], &[]).await?;
        Ok(Outcome::changed(control.see(|facts| facts.policy_view(&record))))
    }

    fn event(&self, outcome: &Outcome<QosPolicyView>) -> Option<Draft> {
        let message = || format!("QoS policy {} created: {}", self.name, limits_in_words(&outcome.view.record));
        outcome.changed.then(|| Draft::info("qos-policy-created", &self.name, message()))
    }
}

impl Request for QosPolicySet {
    type Reply = QosPolicyView;
    const NAME: &'static str = "qos-policy-set";

    async fn run(&self, control: &Control) -> Result<QosPolicyView, ControlError> {
        let _changes = control.lock_changes().await;
        let before = control.directory().policy(&self.policy)?.clone();
        let mut record = before.clone();
        if let Some(name) = self.name.as_ref().filter(|name| **name != record.name) {
            check_policy_name(name)?;
            if control.directory().policy(name).is_ok() {
                let name = name.clone();
                return Err(ControlError::Exists { noun: Noun::QosPolicy, name, difference: None });
            }
            record.name.clone_from(name);
        }
        (record.iops, record.iops_burst) = changed((record.iops, record.iops_burst), self.iops, self.iops_burst);
        (record.bytes_per_second, record.bytes_burst) =
            changed((record.bytes_per_second, record.bytes_burst), self.bytes_per_second, self.bytes_burst);
        record.weight = self.weight.unwrap_or(record.weight);
        record.shared = self.shared.unwrap_or(record.shared);
        check_limits(&record)?;
        if record != before {
            control.commit(vec![record.put()?], vec![record.clone().into()], &[]).await?;
        }
        Ok(control.see(|facts| facts.policy_view(&record)))
    }

    fn event(&self, view: &QosPolicyView) -> Option<Draft> {
        let name = &view.record.name;
        let renamed = self.name.as_ref().filter(|new| **new != self.policy);
        let renamed = renamed.map(|_| format!(" (before: {})", self.policy)).unwrap_or_default();
        let message = format!("QoS policy {name}{renamed} changed: {}", limits_in_words(&view.record));
        Some(Draft::info("qos-policy-changed", name, message))
    }
}

impl Request for QosPolicyDelete {
    type Reply = String;
    const NAME: &'static str = "qos-policy-delete";

    async fn run(&self, control: &Control) -> Result<String, ControlError> {
        let _changes = control.lock_changes().await;
        let record = self.plan(control)?;
        let (mut changes, mut edits) = control.detachment(record.id)?;
        changes.push(record.delete());
        edits.push(Edit::Policy(record.id, None));
        control.commit(changes, edits, &[]).await?;
        Ok(record.name)
    }

    fn event(&self, name: &String) -> Option<Draft> {
        Some(Draft::info("qos-policy-deleted", name, format!("QoS policy {name} deleted")))
    }
}

impl Rehearsed for QosPolicyDelete {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let record = self.plan(control)?;
        let (volumes, hosts) = users(&control.directory(), record.id);
        if volumes.is_empty() && hosts.is_empty() {
            return Ok(Rehearsal::default());
        }
        let message = format!("{} volumes and {} hosts have no limits any more", volumes.len(), hosts.len());
        Ok(Rehearsal::default().warns("limits-end", message))
    }
}

impl QosPolicyDelete {
    /// Checks the deletion. Returns the policy.
    fn plan(&self, control: &Control) -> Result<QosPolicyRecord, ControlError> {
        let directory = control.directory();
        let record = directory.policy(&self.policy)?.clone();
        let (volumes, hosts) = users(&directory, record.id);
        let user = |kind| move |description| User { kind, description };
        let volumes = volumes.into_iter().map(user(UserKind::Volume));
        let users: Vec<User> = volumes.chain(hosts.into_iter().map(user(UserKind::Host))).collect();
        if !users.is_empty() && !self.force {
            return Err(ControlError::InUse { noun: Noun::QosPolicy, name: record.name, users });
        }
        Ok(record)
    }
}

fn check_policy_name(name: &str) -> Result<(), ControlError> {
    check_name(Noun::QosPolicy, name)?;
    if name == DETACH {
        let (noun, name) = (Noun::QosPolicy, name.to_owned());
        return Err(ControlError::InvalidName { noun, name, reason: "it is a word of the interface" });
    }
    Ok(())
}

/// Limit and burst after a change. A limit that ends takes its burst along.
fn changed(
    present: (Option<u64>, Option<Burst>),
    limit: Option<Option<u64>>,
    burst: Option<Option<Burst>>,
) -> (Option<u64>, Option<Burst>) {
    let kept = if limit == Some(None) { None } else { present.1 };
    (limit.unwrap_or(present.0), burst.unwrap_or(kept))
}

/// Checks the limits of a policy, each for itself, so that the field at fault is known.
fn check_limits(record: &QosPolicyRecord) -> Result<(), ControlError> {
    for (field, limit, burst) in
        [("iops_burst", record.iops, record.iops_burst), ("bytes_burst", record.bytes_per_second, record.bytes_burst)]
    {
        if limit.is_none() && burst.is_some() {
            return Err(QosError::BurstWithoutLimit { field }.into());
        }
    }
    let limits = record.limits();
    let without_burst = |rate: Option<qos::Rate>| rate.map(|rate| qos::Rate { burst: None, ..rate });
    let (operations, bytes) = (limits.operations, limits.bytes);
    let none = Limits::default();
    for (field, limits) in [
        ("iops", Limits { operations: without_burst(operations), ..none }),
        ("iops_burst", Limits { operations, ..none }),
        ("bytes_per_second", Limits { bytes: without_burst(bytes), ..none }),
        ("bytes_burst", Limits { bytes, ..none }),
        ("weight", Limits { weight: limits.weight, ..none }),
    ] {
        limits.validate().map_err(|error| QosError::Limits { field, error })?;
    }
    if limits == none {
        return Err(QosError::Unlimited.into());
    }
    Ok(())
}

/// `2000 IOPS (10000 for 30 s), 100 MiB/s, weight 100, shared by its volumes`.
fn limits_in_words(record: &QosPolicyRecord) -> String {
    let mut words = Vec::new();
    let burst = |text: Option<(String, u32)>| text.map(|(text, seconds)| format!(" ({text} for {seconds} s)"));
    words.extend(record.iops.map(|iops| {
        let burst = burst(record.iops_burst.map(|burst| (burst.per_second.to_string(), burst.seconds)));
        format!("{iops} IOPS{}", burst.unwrap_or_default())
    }));
    words.extend(record.bytes_per_second.map(|bytes| {
        let more = |burst: Burst| (format!("{}/s", text::size::format(burst.per_second)), burst.seconds);
        let burst = burst(record.bytes_burst.map(more));
        format!("{}/s{}", text::size::format(bytes), burst.unwrap_or_default())
    }));
    words.push(format!("weight {}", record.weight));
    words.extend(record.shared.then(|| "shared by its volumes".to_owned()));
    words.join(", ")
}
