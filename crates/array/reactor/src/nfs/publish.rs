//! Shares of the directory, as the NFS server exports them, each with its snapshots.
//!
//! A snapshot is exported as `SHARE@SNAPSHOT`, read-only, to the hosts that may use the share. Its files have the
//! numbers that they have in the share, and a file system identifier of their own.

use super::Nfs;
use super::file_system::{self, ShareFiles};
use control::{Change, Directory, ExportHosts, ExportRule, ShareRecord, SnapshotRecord};
use media::Media;
use nfs::v4::FileSystemId;
use nfs_server::access::{Hosts, Network, Rule, Rules};
use nfs_server::{CopyPolicy, Counted, Protocols, Share};
use pool::ObjectId;
use std::collections::BTreeSet;
use std::rc::Rc;
use vfs::{Anonymous, Name, Squash};

impl<M: Media + 'static> Nfs<M> {
    /// Publishes all shares.
    pub(super) fn publish_all(&self, directory: &Directory) {
        directory.shares().for_each(|record| self.publish_share(record, directory));
    }

    /// Publishes a change. Returns true if it may forbid calls in progress.
    pub(super) fn publish_change(&self, change: &Change, directory: &Directory) -> bool {
        match change {
            Change::ShareAdded { object } | Change::ShareChanged { object } | Change::ExportsChanged { object } => {
                directory.share_of(*object).into_iter().for_each(|record| self.publish_share(record, directory));
            }
            Change::ShareRemoved { object } => {
                let snapshots = self.snapshots.borrow_mut().remove(object).unwrap_or_default();
                snapshots.into_iter().for_each(|object| self.withdraw(object));
                self.withdraw(*object);
            }
            // Changes of volumes, and of hosts without exports.
            Change::VolumeAdded { .. }
            | Change::VolumeRemoved { .. }
            | Change::VolumeRenamed { .. }
            | Change::VolumeResized { .. }
            | Change::VolumeRolledBack { .. }
            | Change::ThresholdReached { .. }
            | Change::ThresholdsChanged { .. }
            | Change::WriteCacheChanged { .. }
            | Change::AccessGranted { .. }
            | Change::AccessRevoked { .. }
            | Change::GroupAccessChanged { .. }
            | Change::HostChanged { .. }
            | Change::HostGroupChanged { .. }
            | Change::HostRemoved { .. }
            | Change::PortGroupTransitionBegins { .. }
            | Change::PortGroupTransitionFailed
            | Change::PortGroupsChanged => return false,
        }
        true
    }

    /// Publishes what has changed of a share and its snapshots. Those that are gone are withdrawn.
    fn publish_share(&self, record: &ShareRecord, directory: &Directory) {
        let Rules(rules) = rules(directory.exports_of(record.id));
        let statistics = self.service.statistics.published(record.object.0, &record.name);
        let counted = Counted { share: statistics, snapshot: None };
        let changed = self.publish_files(record, None, Rules(rules.clone()), counted.clone());
        let mut snapshots = BTreeSet::new();
        for snapshot in directory.snapshots_of(record.id) {
            snapshots.insert(snapshot.object);
            // A snapshot has the rules of its share, and nothing else that changes.
            if !changed && self.published(snapshot.object).is_some() {
                continue;
            }
            let rules = rules.iter().map(|rule| Rule { read_only: true, ..rule.clone() }).collect();
            let counted = Counted { snapshot: Some(snapshot.name.clone()), ..counted.clone() };
            self.publish_files(record, Some(snapshot), Rules(rules), counted);
        }
        let before = self.snapshots.borrow_mut().insert(record.object, snapshots.clone()).unwrap_or_default();
        before.difference(&snapshots).for_each(|object| self.withdraw(*object));
    }

    /// Publishes a share or a snapshot of it. Returns true if a fact of it has changed.
    fn publish_files(
        &self,
        record: &ShareRecord,
        snapshot: Option<&SnapshotRecord>,
        rules: Rules,
        counted: Counted,
    ) -> bool {
        // The second half of the identifier tells the snapshots of a share apart.
        let (name, object, minor, file_system) = match snapshot {
            None => (record.name.clone(), record.object, 0, self.file_system(record)),
            Some(SnapshotRecord { name, object, .. }) => {
                let file_system = self.snapshot_file_system(record, *object);
                (format!("{}@{name}", record.name), *object, object.0, file_system)
            }
        };
        let refused = |error: &dyn std::fmt::Display| {
            tracing::error!(share = name, %error, "it is not served by NFS");
            true
        };
        let valid = match Name::try_from(name.as_str()) {
            Ok(valid) => valid,
            Err(error) => return refused(&error),
        };
        let share = Share {
            name: valid,
            object: object.0,
            epoch: record.epoch,
            fsid: FileSystemId { major: record.fsid, minor },
            file_system,
            rules,
            protocols: Protocols { v3: record.protocols.v3, v4: record.protocols.v4 },
            copy: match record.copy {
                control::CopyPolicy::Share => CopyPolicy::Share,
                control::CopyPolicy::Physical => CopyPolicy::Physical,
            },
            counted: Some(counted),
        };
        let mut shares = self.service.shares().borrow_mut();
        let before = shares.changed();
        match shares.publish(share, self.service.now()) {
            Ok(()) => shares.changed() != before,
            Err(error) => refused(&error),
        }
    }

    /// Makes all handles of a share or snapshot stale, and ends its opens and locks.
    fn withdraw(&self, object: ObjectId) {
        self.service.shares().borrow_mut().withdraw(object.0, self.service.now());
        self.service.share_deleted(object.0);
    }

    /// File system of a snapshot: the one that is published, or a new one.
    pub(super) fn snapshot_file_system(&self, record: &ShareRecord, snapshot: ObjectId) -> Rc<ShareFiles<M>> {
        let open = || file_system::open_snapshot(&self.reactor.pool, &self.reactor.environment, record, snapshot);
        self.published(snapshot).unwrap_or_else(|| Rc::new(open()))
    }

    fn published(&self, object: ObjectId) -> Option<Rc<ShareFiles<M>>> {
        self.service.shares().borrow().by_object(object.0).map(|share| Rc::clone(&share.file_system))
    }

    /// File system of a share: the one that is published, so that its open files stay open.
    pub(super) fn file_system(&self, record: &ShareRecord) -> Rc<ShareFiles<M>> {
        self.published(record.object)
            .unwrap_or_else(|| file_system::open(&self.reactor.pool, &self.reactor.environment, record))
    }
}

/// Rules of the server.
pub(crate) fn rules(rules: Vec<ExportRule>) -> Rules {
    Rules(rules.into_iter().map(rule).collect())
}

/// Rule of the server. Without a valid network, which no document has, the rule is about no host.
fn rule(rule: ExportRule) -> Rule {
    let hosts = match rule.hosts {
        ExportHosts::Host(addresses) => Hosts::Host(addresses.into_iter().collect()),
        ExportHosts::Group(addresses) => Hosts::Group(addresses.into_iter().collect()),
        ExportHosts::Network { address, prefix_bits } => {
            Network::new(address, prefix_bits).map_or(Hosts::Host(BTreeSet::new()), Hosts::Network)
        }
        ExportHosts::Any => Hosts::Any,
    };
    let squash = match rule.squash {
        control::Squash::None => Squash::None,
        control::Squash::Root => Squash::Root,
        control::Squash::All => Squash::All,
    };
    let (user, group) = rule.anonymous;
    Rule {
        hosts,
        read_only: rule.read_only,
        squash,
        anonymous: Anonymous { user, group },
        privileged_port: rule.privileged_port,
    }
}
