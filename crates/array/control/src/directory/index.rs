//! Secondary keys of records: names, objects, initiators, addresses, grantees, clone sources, schedules, policies.

use crate::access::record::{AccessRecord, To};
use crate::hosts::initiator::Initiator;
use crate::hosts::record::HostRecord;
use crate::shares::record::ShareRecord;
use crate::snapshots::record::SnapshotRecord;
use crate::trash::record::TrashRecord;
use crate::volumes::record::{SourceRecord, VolumeRecord};
use pool::ObjectId;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use uuid::Uuid;

/// Ids of records by secondary key. Each method takes the previous and the new record.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    volume_names: BTreeMap<String, Uuid>,
    volume_objects: BTreeMap<ObjectId, Uuid>,
    with_thresholds: BTreeSet<Uuid>,
    /// Pairs of source and clone, which is a volume or a share.
    clones: BTreeSet<(SourceRecord, Uuid)>,
    snapshot_objects: BTreeSet<ObjectId>,
    /// Pairs of volume or share, and snapshot.
    snapshots: BTreeSet<(Uuid, Uuid)>,
    /// Pairs of schedule, which may be deleted now, and snapshot that it took.
    scheduled: BTreeSet<(Uuid, Uuid)>,
    host_names: BTreeMap<String, Uuid>,
    initiators: BTreeMap<Initiator, Uuid>,
    addresses: BTreeMap<IpAddr, Uuid>,
    /// Pairs of QoS policy, and volume or host that has it.
    limited_volumes: BTreeSet<(Uuid, Uuid)>,
    limited_hosts: BTreeSet<(Uuid, Uuid)>,
    share_names: BTreeMap<String, Uuid>,
    share_objects: BTreeMap<ObjectId, Uuid>,
    trash_objects: BTreeSet<ObjectId>,
    /// Pairs of volume or share, and snapshot in the trash.
    trash_snapshots: BTreeSet<(Uuid, Uuid)>,
    /// Volumes by grantee and logical unit number. A grantee without grants has no entry.
    luns: BTreeMap<To, BTreeSet<(u16, Uuid)>>,
}

impl Index {
    pub fn volume(&mut self, before: Option<&VolumeRecord>, after: Option<&VolumeRecord>) {
        if let Some(volume) = before {
            self.volume_names.remove(&volume.name);
            self.volume_objects.remove(&volume.object);
            self.with_thresholds.remove(&volume.id);
            volume.source.map(|source| self.clones.remove(&(source, volume.id)));
            volume.policy.map(|policy| self.limited_volumes.remove(&(policy, volume.id)));
        }
        if let Some(volume) = after {
            self.volume_names.insert(volume.name.clone(), volume.id);
            self.volume_objects.insert(volume.object, volume.id);
            if volume.warn_percent.is_some() || volume.critical_percent.is_some() {
                self.with_thresholds.insert(volume.id);
            }
            self.clones.extend(volume.source.map(|source| (source, volume.id)));
            self.limited_volumes.extend(volume.policy.map(|policy| (policy, volume.id)));
        }
    }

    pub fn snapshot(&mut self, before: Option<&SnapshotRecord>, after: Option<&SnapshotRecord>) {
        if let Some(snapshot) = before {
            self.snapshots.remove(&(snapshot.volume, snapshot.id));
            snapshot.schedule.map(|schedule| self.scheduled.remove(&(schedule, snapshot.id)));
            self.snapshot_objects.remove(&snapshot.object);
        }
        if let Some(snapshot) = after {
            self.snapshots.insert((snapshot.volume, snapshot.id));
            self.scheduled.extend(snapshot.schedule.map(|schedule| (schedule, snapshot.id)));
            self.snapshot_objects.insert(snapshot.object);
        }
    }

    pub fn host(&mut self, before: Option<&HostRecord>, after: Option<&HostRecord>) {
        if let Some(host) = before {
            self.host_names.remove(&host.name);
            host.policy.map(|policy| self.limited_hosts.remove(&(policy, host.id)));
            for initiator in &host.initiators {
                self.initiators.remove(initiator);
            }
            for address in &host.addresses {
                self.addresses.remove(address);
            }
        }
        if let Some(host) = after {
            self.host_names.insert(host.name.clone(), host.id);
            self.limited_hosts.extend(host.policy.map(|policy| (policy, host.id)));
            self.initiators.extend(host.initiators.iter().map(|initiator| (initiator.clone(), host.id)));
            self.addresses.extend(host.addresses.iter().map(|address| (*address, host.id)));
        }
    }

    pub fn share(&mut self, before: Option<&ShareRecord>, after: Option<&ShareRecord>) {
        if let Some(share) = before {
            self.share_names.remove(&share.name);
            self.share_objects.remove(&share.object);
            share.source.map(|source| self.clones.remove(&(source, share.id)));
        }
        if let Some(share) = after {
            self.share_names.insert(share.name.clone(), share.id);
            self.share_objects.insert(share.object, share.id);
            self.clones.extend(share.source.map(|source| (source, share.id)));
        }
    }

    pub fn trash(&mut self, before: Option<&TrashRecord>, after: Option<&TrashRecord>) {
        if let Some(item) = before {
            self.trash_objects.remove(&item.what.object());
            item.what.source().map(|source| self.trash_snapshots.remove(&(source, item.what.id())));
        }
        if let Some(item) = after {
            self.trash_objects.insert(item.what.object());
            self.trash_snapshots.extend(item.what.source().map(|source| (source, item.what.id())));
        }
    }

    pub fn access(&mut self, before: Option<&AccessRecord>, after: Option<&AccessRecord>) {
        if let Some(access) = before
            && let Some(luns) = self.luns.get_mut(&access.to())
        {
            luns.remove(&(access.lun, access.volume));
            if luns.is_empty() {
                self.luns.remove(&access.to());
            }
        }
        if let Some(access) = after {
            self.luns.entry(access.to()).or_default().insert((access.lun, access.volume));
        }
    }

    pub fn volume_named(&self, name: &str) -> Option<Uuid> {
        self.volume_names.get(name).copied()
    }

    pub fn volumes_by_name(&self) -> impl Iterator<Item = Uuid> {
        self.volume_names.values().copied()
    }

    pub fn volume_in(&self, object: ObjectId) -> Option<Uuid> {
        self.volume_objects.get(&object).copied()
    }

    pub fn share_named(&self, name: &str) -> Option<Uuid> {
        self.share_names.get(name).copied()
    }

    pub fn shares_by_name(&self) -> impl Iterator<Item = Uuid> {
        self.share_names.values().copied()
    }

    pub fn share_in(&self, object: ObjectId) -> Option<Uuid> {
        self.share_objects.get(&object).copied()
    }

    pub fn trash_objects(&self) -> impl Iterator<Item = ObjectId> {
        self.trash_objects.iter().copied()
    }

    pub fn trashed_snapshot_count(&self) -> usize {
        self.trash_snapshots.len()
    }

    pub fn trash_of(&self, source: Uuid) -> impl Iterator<Item = Uuid> {
        let snapshots = self.trash_snapshots.range((source, Uuid::nil())..=(source, Uuid::max()));
        snapshots.map(|(_, snapshot)| *snapshot)
    }

    /// True if the object is that of a volume, share or snapshot, in the trash or not.
    pub fn has_object(&self, object: ObjectId) -> bool {
        self.volume_objects.contains_key(&object)
            || self.share_objects.contains_key(&object)
            || self.snapshot_objects.contains(&object)
            || self.trash_objects.contains(&object)
    }

    pub fn with_thresholds(&self) -> impl Iterator<Item = Uuid> {
        self.with_thresholds.iter().copied()
    }

    pub fn clones_of(&self, source: SourceRecord) -> impl Iterator<Item = Uuid> {
        let clones = self.clones.range((source, Uuid::nil())..=(source, Uuid::max()));
        clones.map(|(_, clone)| *clone)
    }

    pub fn snapshots_of(&self, volume: Uuid) -> impl Iterator<Item = Uuid> {
        let snapshots = self.snapshots.range((volume, Uuid::nil())..=(volume, Uuid::max()));
        snapshots.map(|(_, snapshot)| *snapshot)
    }

    /// Snapshots that schedules took, those of schedules that are deleted too.
    pub fn scheduled(&self) -> impl Iterator<Item = Uuid> {
        self.scheduled.iter().map(|(_, snapshot)| *snapshot)
    }

    pub fn taken_by(&self, schedule: Uuid) -> impl Iterator<Item = Uuid> {
        let snapshots = self.scheduled.range((schedule, Uuid::nil())..=(schedule, Uuid::max()));
        snapshots.map(|(_, snapshot)| *snapshot)
    }

    pub fn volumes_limited_by(&self, policy: Uuid) -> impl Iterator<Item = Uuid> {
        let volumes = self.limited_volumes.range((policy, Uuid::nil())..=(policy, Uuid::max()));
        volumes.map(|(_, volume)| *volume)
    }

    pub fn hosts_limited_by(&self, policy: Uuid) -> impl Iterator<Item = Uuid> {
        let hosts = self.limited_hosts.range((policy, Uuid::nil())..=(policy, Uuid::max()));
        hosts.map(|(_, host)| *host)
    }

    pub fn host_named(&self, name: &str) -> Option<Uuid> {
        self.host_names.get(name).copied()
    }

    pub fn host_of(&self, initiator: &Initiator) -> Option<Uuid> {
        self.initiators.get(initiator).copied()
    }

    pub fn host_at(&self, address: IpAddr) -> Option<Uuid> {
        self.addresses.get(&address).copied()
    }

    /// Grantees with at least one grant.
    pub fn grantees(&self) -> impl Iterator<Item = To> {
        self.luns.keys().copied()
    }

    /// Volumes granted to a grantee, by logical unit number.
    pub fn volumes_for(&self, to: To) -> impl Iterator<Item = Uuid> {
        self.luns.get(&to).into_iter().flatten().map(|(_, volume)| *volume)
    }
}
