//! Limits of a target that only records them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use unit::VolumeId;

/// Policies and what they are attached to, with a preset report.
#[derive(Debug, Default)]
pub struct MemoryLimits {
    /// Limits of policies.
    pub policies: RefCell<BTreeMap<qos::PolicyId, (qos::Limits, bool)>>,
    /// Policies of volumes.
    pub volumes: RefCell<BTreeMap<VolumeId, qos::PolicyId>>,
    /// Policies of hosts.
    pub hosts: RefCell<BTreeMap<qos::HostId, qos::PolicyId>>,
    /// Result of [`Live::held`](crate::Live::held).
    pub report: RefCell<qos::Report>,
}

impl MemoryLimits {
    pub(super) fn set_policy(&self, policy: qos::PolicyId, limits: Option<(qos::Limits, bool)>) {
        set(&self.policies, policy, limits);
    }

    pub(super) fn set_volume_policy(&self, volume: VolumeId, policy: Option<qos::PolicyId>) {
        set(&self.volumes, volume, policy);
    }

    pub(super) fn set_host_policy(&self, host: qos::HostId, policy: Option<qos::PolicyId>) {
        set(&self.hosts, host, policy);
    }
}

/// Sets or removes an entry.
fn set<K: Ord, V>(entries: &RefCell<BTreeMap<K, V>>, key: K, value: Option<V>) {
    let mut entries = entries.borrow_mut();
    match value {
        Some(value) => entries.insert(key, value),
        None => entries.remove(&key),
    };
}
