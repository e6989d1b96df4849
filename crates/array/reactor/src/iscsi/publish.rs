//! Changes of the directory, as the SCSI target shows them to initiators: logical units, their LUNs,
//! target port groups, and unit attentions.

use super::Iscsi;
use block::VolumeId;
use control::{Change, Directory};
use media::Media;
use pool::ObjectId;
use scsi_target::{Grant, LogicalUnitConfig, TargetPort, TargetPortGroup};
use std::collections::BTreeMap;

impl<M: Media + 'static> Iscsi<M> {
    /// Publishes the whole directory, at the start.
    pub(super) fn load_target(&self, directory: &Directory) {
        for volume in directory.volumes() {
            self.add(directory, volume.object);
        }
        self.grant(directory, directory.volumes().map(|volume| volume.object).collect());
        self.set_port_groups(directory);
    }

    /// Publishes a change, after it has reached the units.
    pub(super) fn publish_to_target(&self, change: &Change, directory: &Directory) {
        let target = &self.target;
        let volume_of = |object: &ObjectId| VolumeId(object.0);
        match change {
            Change::VolumeAdded { object } => self.add(directory, *object),
            Change::VolumeRemoved { object } => {
                target.remove_logical_unit(volume_of(object));
            }
            // SCSI shows no name.
            Change::VolumeRenamed { .. } => {}
            // After a roll-back sessions that see the volume get a unit attention for a possible
            // change of capacity; none exists for a change of content.
            Change::VolumeResized { object, .. } | Change::VolumeRolledBack { object, .. } => {
                target.resized(volume_of(object));
            }
            Change::ThresholdReached { object, .. } => target.soft_threshold_reached(object.as_ref().map(volume_of)),
            Change::ThresholdsChanged { object } => target.thresholds_changed(object.as_ref().map(volume_of)),
            Change::WriteCacheChanged { object, .. } => target.write_cache_changed(volume_of(object)),
            Change::PortGroupTransitionBegins { groups } => target.begin_port_group_transition(groups),
            Change::PortGroupTransitionFailed => target.port_group_transition_failed(),
            Change::PortGroupsChanged => self.set_port_groups(directory),
            Change::AccessGranted { object, .. }
            | Change::AccessRevoked { object, .. }
            | Change::GroupAccessChanged { object } => self.grant(directory, vec![*object]),
            Change::HostChanged { host } => {
                self.grant(directory, directory.volumes_granted_to_host(*host).collect());
            }
            Change::HostGroupChanged { group } => {
                self.grant(directory, directory.volumes_granted_to_group(*group).collect());
            }
            // iSCSI serves no files.
            Change::ShareAdded { .. }
            | Change::ShareRemoved { .. }
            | Change::ShareChanged { .. }
            | Change::ExportsChanged { .. } => {}
            // A deleted host had no grants.
            Change::HostRemoved { .. } => {}
        }
    }

    fn add(&self, directory: &Directory, object: ObjectId) {
        let (record, unit) = (directory.volume_of(object), self.reactor.units.get(VolumeId(object.0)));
        let (Some(record), Some(unit)) = (record, unit) else { return };
        self.target.add_logical_unit(LogicalUnitConfig {
            unit,
            naa: *record.naa.as_bytes(),
            serial: record.naa.serial(),
            profile: self.profile,
        });
    }

    fn set_port_groups(&self, directory: &Directory) {
        let (ports, groups) = port_groups(directory);
        self.target.set_port_groups(ports, groups);
    }

    /// Makes the target's grants of these volumes equal to those of the directory.
    fn grant(&self, directory: &Directory, objects: Vec<ObjectId>) {
        let target = &self.target;
        let wanted: Vec<(VolumeId, BTreeMap<Option<String>, u16>)> =
            objects.into_iter().map(|object| (VolumeId(object.0), directory.grants_of(object))).collect();
        // Revocations come first: a LUN may have moved from one volume to another.
        for (volume, grants) in &wanted {
            for grant in target.grants(*volume) {
                if grants.get(&grant.initiator) != Some(&grant.lun) {
                    target.revoke(*volume, grant.initiator.as_deref());
                    self.unsettled.borrow_mut().insert(*volume);
                }
            }
        }
        for (volume, grants) in wanted {
            let existing = target.grants(volume);
            for (initiator, lun) in grants {
                let grant = Grant { initiator, lun };
                if !existing.contains(&grant)
                    && let Err(error) = target.set_access(volume, grant)
                {
                    tracing::error!(volume = volume.0, %error, "a grant could not be made");
                }
            }
        }
    }
}

/// Ports and groups of the directory. Each portal is its own target portal group, whose tag is the
/// identifier of its port.
pub(super) fn port_groups(directory: &Directory) -> (Vec<TargetPort>, Vec<TargetPortGroup>) {
    let ports = directory.ports().into_iter().map(|port| TargetPort {
        relative_identifier: port.identifier,
        portal_group_tag: port.identifier,
        group: port.group,
    });
    let groups = directory.port_groups().into_iter().map(|record| TargetPortGroup {
        identifier: record.identifier,
        state: record.state,
        preferred: record.preferred,
        origin: record.origin,
    });
    (ports.collect(), groups.collect())
}
