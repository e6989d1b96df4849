//! Shares of the directory, as the NFS server exports them.

use super::Nfs;
use super::file_system::{self, ShareFiles};
use control::{Change, Directory, ExportHosts, ExportRule, ShareRecord};
use media::Media;
use nfs::v4::FileSystemId;
use nfs_server::access::{Hosts, Network, Rule, Rules};
use nfs_server::{Protocols, Share};
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
                self.service.shares().borrow_mut().withdraw(object.0, self.service.now());
                self.service.share_deleted(object.0);
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

    fn publish_share(&self, record: &ShareRecord, directory: &Directory) {
        let name = match Name::try_from(record.name.as_str()) {
            Ok(name) => name,
            Err(error) => {
                tracing::error!(share = record.name, %error, "the share is not served by NFS");
                return;
            }
        };
        let rules = directory.exports_of(record.id).into_iter().filter_map(rule).collect();
        let share = Share {
            name,
            object: record.object.0,
            epoch: record.epoch,
            fsid: FileSystemId { major: record.fsid, minor: 0 },
            file_system: self.file_system(record),
            rules: Rules(rules),
            protocols: Protocols { v3: record.protocols.v3, v4: record.protocols.v4 },
        };
        let published = self.service.shares().borrow_mut().publish(share, self.service.now());
        if let Err(error) = published {
            tracing::error!(share = record.name, %error, "the share is not served by NFS");
        }
    }

    /// File system of a share: the one that is published, so that its open files stay open.
    pub(super) fn file_system(&self, record: &ShareRecord) -> Rc<ShareFiles<M>> {
        let published =
            self.service.shares().borrow().by_object(record.object.0).map(|share| Rc::clone(&share.file_system));
        published.unwrap_or_else(|| file_system::open(&self.reactor.pool, &self.reactor.environment, record))
    }
}

/// Rule of the server. Without a valid network, which no document has, the rule is about no host.
fn rule(rule: ExportRule) -> Option<Rule> {
    let hosts = match rule.hosts {
        ExportHosts::Host(addresses) => Hosts::Host(addresses),
        ExportHosts::Group(addresses) => Hosts::Group(addresses),
        ExportHosts::Network { address, prefix_bits } => Hosts::Network(Network::new(address, prefix_bits)?),
        ExportHosts::Any => Hosts::Any,
    };
    let squash = match rule.squash {
        control::Squash::None => Squash::None,
        control::Squash::Root => Squash::Root,
        control::Squash::All => Squash::All,
    };
    let (user, group) = rule.anonymous;
    Some(Rule {
        hosts,
        read_only: rule.read_only,
        squash,
        anonymous: Anonymous { user, group },
        privileged_port: rule.privileged_port,
    })
}
