//! `qos attach` and `detach`: the policies of volumes and hosts.

use super::QosPolicyView;
use crate::control::Control;
use crate::directory::Edit;
use crate::error::ControlError;
use crate::events::Draft;
use crate::hosts::record::HostRecord;
use crate::record::Document;
use crate::request::Request;
use crate::volumes::record::VolumeRecord;
use pool::CatalogChange;
use uuid::Uuid;

/// Largest number of volumes and hosts in one request.
const MAX_AT_ONCE: usize = 1024;

/// Gives a QoS policy to volumes and hosts, in place of the ones that they have: to all or none.
#[derive(Clone, Debug, Default)]
pub struct QosAttach {
    /// Name or id of the policy.
    pub policy: String,
    /// Volumes, by name or id.
    pub volumes: Vec<String>,
    /// Hosts, by name or id.
    pub hosts: Vec<String>,
}

/// Takes the QoS policies from volumes and hosts: from all or none. Those that have none stay as they are.
#[derive(Clone, Debug, Default)]
pub struct QosDetach {
    /// Volumes, by name or id.
    pub volumes: Vec<String>,
    /// Hosts, by name or id.
    pub hosts: Vec<String>,
}

/// Reply to [`QosDetach`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detached {
    /// Number of volumes that had a policy.
    pub volumes: usize,
    /// Number of hosts that had a policy.
    pub hosts: usize,
}

impl Request for QosAttach {
    type Reply = QosPolicyView;
    const NAME: &'static str = "qos-policy-attach";

    async fn run(&self, control: &Control) -> Result<QosPolicyView, ControlError> {
        let _changes = control.lock_changes().await;
        let policy = control.directory().policy(&self.policy)?.clone();
        control.move_to(Some(policy.id), &self.volumes, &self.hosts).await?;
        Ok(control.see(|facts| facts.policy_view(&policy)))
    }

    fn event(&self, view: &QosPolicyView) -> Option<Draft> {
        let name = &view.record.name;
        let users = users_in_words(&self.volumes, &self.hosts);
        Some(Draft::info("qos-policy-attached", name, format!("QoS policy {name} attached to {users}")))
    }
}

impl Request for QosDetach {
    type Reply = Detached;
    const NAME: &'static str = "qos-policy-detach";

    async fn run(&self, control: &Control) -> Result<Detached, ControlError> {
        let _changes = control.lock_changes().await;
        control.move_to(None, &self.volumes, &self.hosts).await
    }

    fn event(&self, detached: &Detached) -> Option<Draft> {
        let users = users_in_words(&self.volumes, &self.hosts);
        let subject = self.volumes.first().or(self.hosts.first()).cloned().unwrap_or_default();
        let has_effect = detached.volumes + detached.hosts > 0;
        has_effect.then(|| Draft::info("qos-policy-detached", subject, format!("QoS policies taken from {users}")))
    }
}

impl Control {
    /// Gives volumes and hosts a policy, or none, in one commit. Returns how many had another one.
    async fn move_to(
        &self,
        policy: Option<Uuid>,
        volumes: &[String],
        hosts: &[String],
    ) -> Result<Detached, ControlError> {
        if volumes.is_empty() && hosts.is_empty() {
            return Err(ControlError::InvalidSetting("name a volume or a host".to_owned()));
        }
        if volumes.len() + hosts.len() > MAX_AT_ONCE {
            let reason = format!("a request names at most {MAX_AT_ONCE} volumes and hosts");
            return Err(ControlError::InvalidSetting(reason));
        }
        let (mut volumes, mut hosts) = {
            let directory = self.directory();
            let volumes = volumes.iter().map(|name| directory.volume(name).cloned());
            let hosts = hosts.iter().map(|name| directory.host(name).cloned());
            (volumes.collect::<Result<Vec<_>, _>>()?, hosts.collect::<Result<Vec<_>, _>>()?)
        };
        volumes.retain(|volume| volume.policy != policy);
        hosts.retain(|host| host.policy != policy);
        volumes.sort_by_key(|volume| volume.id);
        volumes.dedup_by_key(|volume| volume.id);
        hosts.sort_by_key(|host| host.id);
        hosts.dedup_by_key(|host| host.id);
        let detached = Detached { volumes: volumes.len(), hosts: hosts.len() };
        let (changes, edits) = with_policy(policy, volumes, hosts)?;
        if !changes.is_empty() {
            self.commit(changes, edits, &[]).await?;
        }
        Ok(detached)
    }

    /// Changes and edits that take a policy from all that have it.
    pub(super) fn detachment(&self, policy: Uuid) -> Result<(Vec<CatalogChange>, Vec<Edit>), ControlError> {
        let directory = self.directory();
        let volumes = directory.volumes_limited_by(policy).cloned().collect();
        with_policy(None, volumes, directory.hosts_limited_by(policy).cloned().collect())
    }
}

/// Changes and edits that give volumes and hosts a policy, or none.
fn with_policy(
    policy: Option<Uuid>,
    volumes: Vec<VolumeRecord>,
    hosts: Vec<HostRecord>,
) -> Result<(Vec<CatalogChange>, Vec<Edit>), ControlError> {
    let (mut changes, mut edits) = (Vec::new(), Vec::new());
    for volume in volumes {
        let volume = VolumeRecord { policy, ..volume };
        changes.push(volume.put()?);
        edits.push(volume.into());
    }
    for host in hosts {
        let host = HostRecord { policy, ..host };
        changes.push(host.put()?);
        edits.push(host.into());
    }
    Ok((changes, edits))
}

/// `volumes v1, v2 and host h1`.
fn users_in_words(volumes: &[String], hosts: &[String]) -> String {
    let words = |noun: &str, names: &[String]| match names {
        [] => None,
        [name] => Some(format!("{noun} {name}")),
        names => Some(format!("{noun}s {}", names.join(", "))),
    };
    [words("volume", volumes), words("host", hosts)].into_iter().flatten().collect::<Vec<_>>().join(" and ")
}
