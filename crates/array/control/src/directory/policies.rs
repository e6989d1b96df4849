//! QoS policies in the directory.

use super::{Directory, by_name};
use crate::condition::Noun;
use crate::error::ControlError;
use crate::hosts::record::HostRecord;
use crate::qos::record::QosPolicyRecord;
use crate::volumes::record::VolumeRecord;
use uuid::Uuid;

impl Directory {
    /// Checks that the policy of every volume and host exists. That of a volume in the trash may be gone.
    pub(super) fn check_policies(&self) -> Result<(), ControlError> {
        let is_missing = |policy: Option<Uuid>| policy.is_some_and(|policy| !self.policies.contains_key(&policy));
        if let Some(volume) = self.volumes.values().find(|volume| is_missing(volume.policy)) {
            return Err(ControlError::Damaged {
                reason: format!("volume {} has a QoS policy that is not there", volume.name),
            });
        }
        if let Some(host) = self.hosts.values().find(|host| is_missing(host.policy)) {
            return Err(ControlError::Damaged {
                reason: format!("host {} has a QoS policy that is not there", host.name),
            });
        }
        Ok(())
    }

    /// All QoS policies in order of creation.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &QosPolicyRecord> {
        self.policies.values()
    }

    /// Number of QoS policies.
    pub(crate) fn policy_count(&self) -> usize {
        self.policies.len()
    }

    /// QoS policy with this id.
    pub(crate) fn policy_by_id(&self, id: Uuid) -> Option<&QosPolicyRecord> {
        self.policies.get(&id)
    }

    /// Finds a QoS policy by name or id.
    pub(crate) fn policy(&self, name: &str) -> Result<&QosPolicyRecord, ControlError> {
        let named = |name: &str| self.policies.values().find(|one| one.name == name).map(|one| one.id);
        by_name(&self.policies, name, named)
            .ok_or_else(|| ControlError::NotFound { noun: Noun::QosPolicy, name: name.to_owned() })
    }

    /// Volumes with a policy, in order of creation.
    pub(crate) fn volumes_limited_by(&self, policy: Uuid) -> impl Iterator<Item = &VolumeRecord> {
        self.index.volumes_limited_by(policy).filter_map(|id| self.volumes.get(&id))
    }

    /// Hosts with a policy, in order of creation.
    pub(crate) fn hosts_limited_by(&self, policy: Uuid) -> impl Iterator<Item = &HostRecord> {
        self.index.hosts_limited_by(policy).filter_map(|id| self.hosts.get(&id))
    }
}
