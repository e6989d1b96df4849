//! Limits in the running target: passed on with each change of a document, and watched.

use super::part::Slow;
use super::record::policy_number;
use crate::control::Control;
use crate::directory::Edit;
use crate::events::{AlertView, Severity};
use crate::volumes::record::VolumeRecord;
use jiff::Timestamp;
use qos::{Held, HostId};
use std::time::Duration;
use unit::VolumeId;
use uuid::Uuid;

/// Time of waiting from which a volume or host is reported: hosts give up commands after 30 s.
const LONG: Duration = Duration::from_secs(5);

/// A volume in the running target.
pub(crate) const fn volume_number(volume: &VolumeRecord) -> VolumeId {
    VolumeId(volume.object.0)
}

/// A host in the running target.
pub(crate) const fn host_number(id: Uuid) -> HostId {
    HostId::of_record(id.as_u128())
}

impl Control {
    /// Gives all policies, and the volumes and hosts that have them, to the running target.
    pub(crate) fn pass_on_all_limits(&self) {
        let (directory, live) = (self.directory(), self.live());
        for policy in directory.policies() {
            live.set_policy(policy.number(), Some((policy.limits(), policy.shared)));
            for volume in directory.volumes_limited_by(policy.id) {
                live.set_volume_policy(volume_number(volume), Some(policy.number()));
            }
            for host in directory.hosts_limited_by(policy.id) {
                live.set_host_policy(host_number(host.id), Some(policy.number()));
            }
        }
    }

    /// Passes on what an edit changes in limits, before it is made in the directory.
    pub(crate) fn pass_on_limits(&self, edit: &Edit) {
        let (directory, live) = (self.directory(), self.live());
        match edit {
            Edit::Policy(id, None) => live.set_policy(policy_number(*id), None),
            Edit::Policy(_, Some(policy)) => {
                let limits = (policy.limits(), policy.shared);
                if directory.policy_by_id(policy.id).is_none_or(|before| (before.limits(), before.shared) != limits) {
                    live.set_policy(policy.number(), Some(limits));
                }
            }
            Edit::Volume(id, after) => {
                let (before, after) = (directory.volume_by_id(*id), after.as_deref());
                let policy = |volume: Option<&VolumeRecord>| volume.and_then(|volume| volume.policy);
                if policy(before) != policy(after)
                    && let Some(volume) = after.or(before)
                {
                    live.set_volume_policy(volume_number(volume), policy(after).map(policy_number));
                }
            }
            Edit::Host(id, after) => {
                let before = directory.host_by_id(*id).and_then(|host| host.policy);
                let after = after.as_ref().and_then(|host| host.policy);
                if before != after {
                    live.set_host_policy(host_number(*id), after.map(policy_number));
                }
            }
            _ => {}
        }
    }

    /// Looks for volumes and hosts whose commands wait for long.
    pub(crate) fn watch_limits(&self) {
        let directory = self.directory();
        if directory.policy_count() == 0 && self.limit_watch().is_empty() {
            return;
        }
        let (now, report) = (self.environment().now(), self.live().held());
        let since = |held: Option<&Held>| {
            let oldest = held.map_or(Duration::ZERO, |held| held.oldest);
            (oldest > LONG).then(|| now.saturating_sub(oldest).unwrap_or(now))
        };
        let mut slow = Vec::new();
        for policy in directory.policies() {
            slow.extend(directory.volumes_limited_by(policy.id).filter_map(|volume| {
                Some((Slow::Volume(volume.id), since(report.volumes.get(&volume_number(volume)))?))
            }));
            slow.extend(
                directory
                    .hosts_limited_by(policy.id)
                    .filter_map(|host| Some((Slow::Host(host.id), since(report.hosts.get(&host_number(host.id)))?))),
            );
        }
        drop(directory);
        self.limit_watch().set(slow);
    }

    /// Alerts of volumes and hosts whose commands wait for long.
    pub(crate) fn limit_alerts(&self) -> Vec<AlertView> {
        let directory = self.directory();
        let alert = |(slow, since): (Slow, Timestamp)| {
            let (noun, name, policy) = match slow {
                Slow::Volume(id) => directory.volume_by_id(id).map(|volume| ("volume", &volume.name, volume.policy))?,
                Slow::Host(id) => directory.host_by_id(id).map(|host| ("host", &host.name, host.policy))?,
            };
            let policy = &directory.policy_by_id(policy?)?.name;
            Some(AlertView {
                code: "qos-slow",
                severity: Severity::Warning,
                // The name of a volume may be that of a host, too.
                subject: if noun == "host" { format!("host {name}") } else { name.clone() },
                since,
                message: format!(
                    "commands of {noun} {name} wait for more than 5 s for the limits of QoS policy {policy}"
                ),
                help: "raise the limit, or look at what its hosts do: they give up commands after 30 s",
                note: None,
            })
        };
        self.limit_watch().all().into_iter().filter_map(alert).collect()
    }
}
