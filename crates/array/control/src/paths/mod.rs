//! Paths of hosts: an alert when a host has fewer than before, and still some.
//!
//! A path is a portal with a session of an initiator of the host. A host with several initiators is a cluster: each
//! is a machine with paths of its own. An initiator without any path has logged out or is off; that is no lost path.
//! One that keeps fewer paths for a day has them on purpose.

pub(crate) mod part;

use crate::control::Control;
use crate::events::Severity;
use crate::events::view::AlertView;
use crate::hosts::{HostRecord, Initiator};
use part::{Loss, Side};
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
        let mut portals: BTreeMap<Side, BTreeSet<_>> = BTreeMap::new();
        for session in self.live().sessions() {
            if let Some(host) = directory.host_of(&session.initiator) {
                let side = Side { host: host.id, initiator: Initiator::of(&session.initiator) };
                portals.entry(side).or_default().insert(session.portal);
            }
        }
        let present = portals.into_iter().map(|(side, portals)| (side, portals.len())).collect();
        self.paths().observe(&present, now, self.environment().now());
    }

    /// Alerts for lost paths.
    pub(crate) fn path_alerts(&self) -> Vec<AlertView> {
        let directory = self.directory();
        let mut lost: BTreeMap<Uuid, Vec<Loss>> = BTreeMap::new();
        for loss in self.paths().lost(self.environment().monotonic()) {
            lost.entry(loss.side.host).or_default().push(loss);
        }
        let alert = |(host, losses): (Uuid, Vec<Loss>)| {
            let host = directory.host_by_id(host)?;
            Some(AlertView {
                code: "path-lost",
                severity: Severity::Warning,
                subject: host.name.clone(),
                since: losses.iter().map(|loss| loss.since).min()?,
                message: message(host, &losses)?,
                help: "look at its network, at the switch between, and at its sessions",
                note: None,
            })
        };
        lost.into_iter().filter_map(alert).collect()
    }
}

/// What a host has lost. Its initiators are named if there are several.
fn message(host: &HostRecord, losses: &[Loss]) -> Option<String> {
    let [first, others @ ..] = losses else { return None };
    let mut message = format!("host {} has {} of {} paths", host.name, first.now, first.most);
    if host.initiators.len() > 1 {
        message += &format!(" from initiator {}", first.side.initiator);
    }
    match others.len() {
        0 => {}
        1 => message += ", and 1 other initiator has fewer paths too",
        number => message += &format!(", and {number} other initiators have fewer paths too"),
    }
    Some(message)
}
