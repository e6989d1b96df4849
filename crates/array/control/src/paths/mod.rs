//! Paths of hosts: an alert when a host has fewer than before, and still some.
//!
//! A path is a portal with a session of the host. A host without any path has logged out or is off; that is no lost
//! path. A host that keeps fewer paths for a day has them on purpose.

pub(crate) mod part;

use crate::control::Control;
use crate::events::Severity;
use crate::events::view::AlertView;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

impl Control {
    /// Counts the paths of hosts, once in a while.
    pub(crate) fn watch_paths(&self) {
        let now = self.environment().monotonic();
        if !self.paths().begin(now) {
            return;
        }
        let directory = self.directory();
        let mut portals: BTreeMap<Uuid, BTreeSet<_>> = BTreeMap::new();
        for session in self.live().sessions() {
            if let Some(host) = directory.host_of(&session.initiator) {
                portals.entry(host.id).or_default().insert(session.portal);
            }
        }
        let present = portals.into_iter().map(|(host, portals)| (host, portals.len())).collect();
        self.paths().observe(&present, now, self.environment().now());
    }

    /// Alerts for lost paths.
    pub(crate) fn path_alerts(&self) -> Vec<AlertView> {
        let directory = self.directory();
        let lost = self.paths().lost(self.environment().monotonic()).into_iter();
        let alert = |(host, since, now, most): (Uuid, Timestamp, usize, usize)| {
            let host = directory.host_by_id(host)?;
            Some(AlertView {
                code: "path-lost",
                severity: Severity::Warning,
                subject: host.name.clone(),
                since,
                message: format!("host {} has {now} of {most} paths", host.name),
                help: "look at its network, at the switch between, and at its sessions",
                note: None,
            })
        };
        lost.filter_map(alert).collect()
    }
}
