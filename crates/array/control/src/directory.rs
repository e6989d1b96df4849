//! The array's state in memory: a copy of the documents, indexed for lookup. The documents are
//! authoritative; the copy is rebuilt from them at every start and changed only after a commit, by
//! an [`Edit`] for each document. The portals of the configuration have an edit of their own. The cost of an edit is
//! independent of the number of documents.

mod configured;
mod index;
mod policies;
mod ports;
mod schedules;
mod shared;
mod shares;
pub(crate) mod sources;
mod table;
mod trash;

pub use configured::ConfiguredPorts;
pub use shared::SharedDirectory;
pub(crate) use shares::Content;

use crate::access::grantee::Grantee;
use crate::access::record::{AccessRecord, To};
use crate::catalog::DynCatalog;
use crate::condition::Noun;
use crate::error::ControlError;
use crate::exports::record::{ExportRecord, ExportTo};
use crate::host_groups::record::HostGroupRecord;
use crate::hosts::initiator::Initiator;
use crate::hosts::record::{Chap, HostRecord};
use crate::ports::record::{PortGroupRecord, PortalRecord};
use crate::qos::record::QosPolicyRecord;
use crate::record::load;
use crate::revision::expected::tag;
use crate::schedules::record::ScheduleRecord;
use crate::shares::record::ShareRecord;
use crate::snapshots::error::SnapshotError;
use crate::snapshots::record::SnapshotRecord;
use crate::system::record::ArrayRecord;
use crate::trash::record::TrashRecord;
use crate::volumes::record::{SourceRecord, VolumeRecord};
use index::Index;
use jiff::Timestamp;
use pool::{ObjectId, ObjectKind};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use table::Table;
use uuid::Uuid;

/// Names, hosts and access. The running target reads it; only `control` changes it, with
/// `Directory::apply`.
#[derive(Clone, Debug)]
pub struct Directory {
    array: ArrayRecord,
    target: String,
    volumes: Table<Uuid, VolumeRecord>,
    snapshots: Table<Uuid, SnapshotRecord>,
    hosts: Table<Uuid, HostRecord>,
    host_groups: Table<Uuid, HostGroupRecord>,
    access: Table<(Uuid, To), AccessRecord>,
    shares: Table<Uuid, ShareRecord>,
    exports: Table<(Uuid, ExportTo), ExportRecord>,
    /// What is in the trash, by its own id.
    trash: Table<Uuid, TrashRecord>,
    schedules: Table<Uuid, ScheduleRecord>,
    policies: Table<Uuid, QosPolicyRecord>,
    portals: Table<u16, PortalRecord>,
    port_groups: Table<u16, PortGroupRecord>,
    configured_ports: ConfiguredPorts,
    index: Index,
    revision: u64,
    /// Last change of each volume, snapshot, share, host, host group, schedule and QoS policy.
    changed: BTreeMap<Uuid, u64>,
}

/// Change of one record, or of the configured portals. `None` removes a record.
#[derive(Clone, Debug)]
pub enum Edit {
    /// A volume.
    Volume(Uuid, Option<Arc<VolumeRecord>>),
    /// A snapshot.
    Snapshot(Uuid, Option<Arc<SnapshotRecord>>),
    /// A host.
    Host(Uuid, Option<Arc<HostRecord>>),
    /// A host group.
    HostGroup(Uuid, Option<Arc<HostGroupRecord>>),
    /// A grant, by volume and grantee.
    Access((Uuid, To), Option<Arc<AccessRecord>>),
    /// A share.
    Share(Uuid, Option<Arc<ShareRecord>>),
    /// An export rule, by share and hosts.
    Export((Uuid, ExportTo), Option<Arc<ExportRecord>>),
    /// A volume, share or snapshot in the trash.
    Trash(Uuid, Option<Arc<TrashRecord>>),
    /// A schedule.
    Schedule(Uuid, Option<Arc<ScheduleRecord>>),
    /// A QoS policy.
    Policy(Uuid, Option<Arc<QosPolicyRecord>>),
    /// A portal. Portals are never removed.
    Portal(u16, Option<Arc<PortalRecord>>),
    /// A target port group. Groups are never removed.
    PortGroup(u16, Option<Arc<PortGroupRecord>>),
    /// The portals of the configuration, all of them.
    ConfiguredPorts(ConfiguredPorts),
}

impl Edit {
    /// Id of an object that has a tag, and whether it exists after the change.
    fn object(&self) -> Option<(Uuid, bool)> {
        match self {
            Self::Volume(id, record) => Some((*id, record.is_some())),
            Self::Snapshot(id, record) => Some((*id, record.is_some())),
            Self::Host(id, record) => Some((*id, record.is_some())),
            Self::HostGroup(id, record) => Some((*id, record.is_some())),
            Self::Share(id, record) => Some((*id, record.is_some())),
            Self::Schedule(id, record) => Some((*id, record.is_some())),
            Self::Policy(id, record) => Some((*id, record.is_some())),
            Self::Access(..)
            | Self::Export(..)
            | Self::Trash(..)
            | Self::Portal(..)
            | Self::PortGroup(..)
            | Self::ConfiguredPorts(_) => None,
        }
    }
}

/// Edits that store a record under its key.
macro_rules! edits {
    ($($record:ty => |$of:ident| $key:expr, $edit:ident;)*) => {
        $(impl From<$record> for Edit {
            fn from($of: $record) -> Self {
                Self::$edit($key, Some(Arc::new($of)))
            }
        })*
    };
}

edits! {
    VolumeRecord => |record| record.id, Volume;
    SnapshotRecord => |record| record.id, Snapshot;
    HostRecord => |record| record.id, Host;
    HostGroupRecord => |record| record.id, HostGroup;
    AccessRecord => |record| (record.volume, record.to()), Access;
    ShareRecord => |record| record.id, Share;
    ExportRecord => |record| (record.share, record.to), Export;
    TrashRecord => |record| record.what.id(), Trash;
    ScheduleRecord => |record| record.id, Schedule;
    QosPolicyRecord => |record| record.id, Policy;
    PortalRecord => |record| record.identifier, Portal;
    PortGroupRecord => |record| record.identifier, PortGroup;
}

/// Access of an initiator: its host, its authentication and its logical units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nexus {
    /// Id and name of the initiator's host; absent for an unknown initiator, which sees the volumes
    /// granted to any host.
    pub host: Option<(Uuid, String)>,
    /// Required credentials; absent if no authentication is required.
    pub chap: Option<Chap>,
    /// Visible logical units by number.
    pub logical_units: Vec<LogicalUnit>,
}

/// A logical unit as an initiator sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogicalUnit {
    /// Logical unit number.
    pub lun: u16,
    /// Object of the volume.
    pub object: ObjectId,
}

impl Directory {
    /// Reads every document and checks that they agree with each other and with the pool's objects.
    /// Objects without a document are left alone.
    pub(crate) fn load(catalog: &dyn DynCatalog, array: ArrayRecord, target: String) -> Result<Self, ControlError> {
        let mut directory = Self {
            array,
            target,
            volumes: Table::default(),
            snapshots: Table::default(),
            hosts: Table::default(),
            host_groups: Table::default(),
            access: Table::default(),
            shares: Table::default(),
            exports: Table::default(),
            trash: Table::default(),
            schedules: Table::default(),
            policies: Table::default(),
            portals: Table::default(),
            port_groups: Table::default(),
            configured_ports: ConfiguredPorts::default(),
            index: Index::default(),
            revision: 0,
            changed: BTreeMap::new(),
        };
        directory.extend(load::<VolumeRecord>(catalog)?);
        directory.extend(load::<SnapshotRecord>(catalog)?);
        directory.extend(load::<HostRecord>(catalog)?);
        directory.extend(load::<HostGroupRecord>(catalog)?);
        directory.extend(load::<AccessRecord>(catalog)?);
        directory.extend(load::<ShareRecord>(catalog)?);
        directory.extend(load::<ExportRecord>(catalog)?);
        directory.extend(load::<TrashRecord>(catalog)?);
        directory.extend(load::<ScheduleRecord>(catalog)?);
        directory.extend(load::<QosPolicyRecord>(catalog)?);
        directory.extend(load::<PortalRecord>(catalog)?);
        directory.extend(load::<PortGroupRecord>(catalog)?);
        directory.check(catalog)?;
        Ok(directory)
    }

    fn extend<R: Into<Edit>>(&mut self, records: Vec<R>) {
        for record in records {
            self.apply(record.into());
        }
    }

    /// Number of changes since the array started, the records that it read among them. Usage and
    /// counters do not change it.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Tag of a volume, snapshot, share, host, host group, schedule or QoS policy in an array that has been running
    /// since `started`.
    pub(crate) fn tag(&self, started: Timestamp, id: Uuid) -> Option<String> {
        self.changed.get(&id).map(|revision| tag(started, *revision))
    }

    /// True for a change of a schedule that its runs make: they are none of what an administrator knows of it.
    fn is_progress(&self, edit: &Edit) -> bool {
        let Edit::Schedule(id, Some(after)) = edit else { return false };
        self.schedules.get(id).is_some_and(|before| before.has_settings_of(after))
    }

    /// Makes one change, with its index entries.
    pub(crate) fn apply(&mut self, edit: Edit) {
        self.revision += 1;
        if let Some((id, exists)) = edit.object().filter(|_| !self.is_progress(&edit)) {
            if exists {
                self.changed.insert(id, self.revision);
            } else {
                self.changed.remove(&id);
            }
        }
        let index = &mut self.index;
        match edit {
            Edit::Volume(id, record) => {
                let before = self.volumes.set(id, record.clone());
                index.volume(before.as_deref(), record.as_deref());
            }
            Edit::Snapshot(id, record) => {
                let before = self.snapshots.set(id, record.clone());
                index.snapshot(before.as_deref(), record.as_deref());
            }
            Edit::Host(id, record) => {
                let before = self.hosts.set(id, record.clone());
                index.host(before.as_deref(), record.as_deref());
            }
            Edit::HostGroup(id, record) => drop(self.host_groups.set(id, record)),
            Edit::Access(key, record) => {
                let before = self.access.set(key, record.clone());
                index.access(before.as_deref(), record.as_deref());
            }
            Edit::Share(id, record) => {
                let before = self.shares.set(id, record.clone());
                index.share(before.as_deref(), record.as_deref());
            }
            Edit::Export(key, record) => drop(self.exports.set(key, record)),
            Edit::Trash(id, record) => {
                let before = self.trash.set(id, record.clone());
                index.trash(before.as_deref(), record.as_deref());
            }
            Edit::Schedule(id, record) => drop(self.schedules.set(id, record)),
            Edit::Policy(id, record) => drop(self.policies.set(id, record)),
            Edit::Portal(identifier, record) => drop(self.portals.set(identifier, record)),
            Edit::PortGroup(identifier, record) => drop(self.port_groups.set(identifier, record)),
            Edit::ConfiguredPorts(ports) => self.configured_ports = ports,
        }
    }

    /// Checks that every object and record that a document refers to exists.
    fn check(&self, catalog: &dyn DynCatalog) -> Result<(), ControlError> {
        let damaged = |reason: String| Err(ControlError::Damaged { reason });
        let is_kind = |object, kind| catalog.object(object).is_some_and(|info| info.kind == kind);
        for volume in self.volumes.values() {
            if !is_kind(volume.object, ObjectKind::Volume) {
                return damaged(format!("volume {} has no object in the pool", volume.name));
            }
        }
        for snapshot in self.snapshots.values() {
            let has_source = self.volumes.contains_key(&snapshot.volume) || self.shares.contains_key(&snapshot.volume);
            if !is_kind(snapshot.object, ObjectKind::Snapshot) || !has_source {
                return damaged(format!("snapshot {} has no object or no source", snapshot.name));
            }
        }
        for group in self.host_groups.values() {
            if !group.members.iter().all(|host| self.hosts.contains_key(host)) {
                return damaged(format!("host group {} has a member that does not exist", group.name));
            }
        }
        for access in self.access.values() {
            let missing = match access.to() {
                To::Any => false,
                To::Host(host) => !self.hosts.contains_key(&host),
                To::Group(group) => !self.host_groups.contains_key(&group),
            };
            if missing || !self.volumes.contains_key(&access.volume) {
                return damaged(format!("LUN {} is granted of a volume or to a host that is not there", access.lun));
            }
        }
        self.check_policies()?;
        self.check_shares(catalog)?;
        self.check_trash(catalog)
    }

    /// Identity of the array.
    pub fn array(&self) -> &ArrayRecord {
        &self.array
    }

    /// Name of the iSCSI target.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// All volumes in order of creation.
    pub fn volumes(&self) -> impl Iterator<Item = &VolumeRecord> + Clone {
        self.volumes.values()
    }

    /// Number of volumes.
    pub(crate) fn volume_count(&self) -> usize {
        self.volumes.len()
    }

    /// Volume with this id.
    pub(crate) fn volume_by_id(&self, id: Uuid) -> Option<&VolumeRecord> {
        self.volumes.get(&id)
    }

    /// All snapshots in order of creation.
    pub(crate) fn snapshots(&self) -> impl Iterator<Item = &SnapshotRecord> + Clone {
        self.snapshots.values()
    }

    /// Number of snapshots.
    pub(crate) fn snapshot_count(&self) -> usize {
        self.snapshots.len()
    }

    /// Snapshot with this id.
    pub(crate) fn snapshot_by_id(&self, id: Uuid) -> Option<&SnapshotRecord> {
        self.snapshots.get(&id)
    }

    /// All hosts in order of creation.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &HostRecord> {
        self.hosts.values()
    }

    /// Number of hosts.
    pub(crate) fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// Host with this id.
    pub(crate) fn host_by_id(&self, id: Uuid) -> Option<&HostRecord> {
        self.hosts.get(&id)
    }

    /// All host groups in order of creation.
    pub(crate) fn host_groups(&self) -> impl Iterator<Item = &HostGroupRecord> {
        self.host_groups.values()
    }

    /// Host group with this id.
    pub(crate) fn host_group_by_id(&self, id: Uuid) -> Option<&HostGroupRecord> {
        self.host_groups.get(&id)
    }

    /// All grants, by volume and grantee.
    pub(crate) fn all_access(&self) -> impl Iterator<Item = &AccessRecord> {
        self.access.values()
    }

    /// Grant of a volume to a grantee.
    pub(crate) fn access_between(&self, volume: Uuid, to: To) -> Option<&AccessRecord> {
        self.access.get(&(volume, to))
    }

    /// Volumes by name.
    pub(crate) fn volumes_by_name(&self) -> impl Iterator<Item = &VolumeRecord> {
        self.index.volumes_by_name().filter_map(|id| self.volumes.get(&id))
    }

    /// Volume stored in an object.
    pub fn volume_of(&self, object: ObjectId) -> Option<&VolumeRecord> {
        self.volumes.get(&self.index.volume_in(object)?)
    }

    /// Volumes with their own thresholds.
    pub(crate) fn volumes_with_thresholds(&self) -> impl Iterator<Item = &VolumeRecord> {
        self.index.with_thresholds().filter_map(|id| self.volumes.get(&id))
    }

    /// Volumes cloned from a volume or snapshot.
    pub(crate) fn clones_of(&self, source: SourceRecord) -> impl Iterator<Item = &VolumeRecord> {
        self.index.clones_of(source).filter_map(|id| self.volumes.get(&id))
    }

    /// Names of volumes and shares cloned from a volume, share or snapshot, sorted.
    pub(crate) fn clone_names(&self, source: SourceRecord) -> Vec<String> {
        let volumes = self.clones_of(source).map(|clone| clone.name.clone());
        let mut names: Vec<String> =
            volumes.chain(self.share_clones_of(source).map(|clone| clone.name.clone())).collect();
        names.sort();
        names
    }

    /// Access of the initiator with this name (case-insensitive).
    pub fn nexus(&self, initiator: &str) -> Nexus {
        let host = self.host_of(initiator);
        let everybody = self.access_for(To::Any);
        let own = host.into_iter().flat_map(|host| self.access_to(host.id));
        let mut logical_units: Vec<LogicalUnit> = everybody
            .chain(own)
            .filter_map(|access| {
                let volume = self.volumes.get(&access.volume)?;
                Some(LogicalUnit { lun: access.lun, object: volume.object })
            })
            .collect();
        logical_units.sort_by_key(|unit| unit.lun);
        Nexus {
            host: host.map(|host| (host.id, host.name.clone())),
            chap: host.and_then(|host| host.chap.clone()),
            logical_units,
        }
    }

    /// Initiator names that the grants of a volume reach, with the logical unit number. `None`:
    /// every initiator.
    pub fn grants_of(&self, object: ObjectId) -> BTreeMap<Option<String>, u16> {
        let Some(volume) = self.volume_of(object) else { return BTreeMap::new() };
        let mut grants = BTreeMap::new();
        for access in self.access_of(volume.id) {
            let hosts: Vec<Uuid> = match access.to() {
                To::Any => {
                    grants.insert(None, access.lun);
                    continue;
                }
                To::Host(host) => vec![host],
                To::Group(group) => self.members(group).collect(),
            };
            for host in hosts.into_iter().filter_map(|host| self.hosts.get(&host)) {
                grants.extend(host.initiators.iter().map(|initiator| (Some(initiator.to_string()), access.lun)));
            }
        }
        grants
    }

    /// Volumes granted to a host directly or through its groups.
    pub fn volumes_granted_to_host(&self, host: Uuid) -> impl Iterator<Item = ObjectId> {
        self.access_to(host).filter_map(|access| Some(self.volumes.get(&access.volume)?.object))
    }

    /// Volumes granted to a host group.
    pub fn volumes_granted_to_group(&self, group: Uuid) -> impl Iterator<Item = ObjectId> {
        self.access_for(To::Group(group)).filter_map(|access| Some(self.volumes.get(&access.volume)?.object))
    }

    /// Host of the initiator with this text form.
    pub fn host_of(&self, initiator: &str) -> Option<&HostRecord> {
        self.host_with(&Initiator::of(initiator))
    }

    /// Host with an IP address.
    pub(crate) fn host_at(&self, address: IpAddr) -> Option<&HostRecord> {
        self.hosts.get(&self.index.host_at(address)?)
    }

    /// Host of an initiator.
    pub(crate) fn host_with(&self, initiator: &Initiator) -> Option<&HostRecord> {
        self.hosts.get(&self.index.host_of(initiator)?)
    }

    /// Finds a volume by name or id.
    pub(crate) fn volume(&self, name: &str) -> Result<&VolumeRecord, ControlError> {
        by_name(&self.volumes, name, |name| self.index.volume_named(name))
            .ok_or_else(|| ControlError::NotFound { noun: Noun::Volume, name: name.to_owned() })
    }

    /// Finds a host by name or id.
    pub(crate) fn host(&self, name: &str) -> Result<&HostRecord, ControlError> {
        by_name(&self.hosts, name, |name| self.index.host_named(name))
            .ok_or_else(|| ControlError::NotFound { noun: Noun::Host, name: name.to_owned() })
    }

    /// Finds a snapshot by `volume@name` or `share@name`, id, or a name that is unique among all snapshots.
    pub(crate) fn snapshot(&self, name: &str) -> Result<&SnapshotRecord, ControlError> {
        let not_found = || ControlError::NotFound { noun: Noun::Snapshot, name: name.to_owned() };
        if let Some((source, snapshot)) = name.split_once('@') {
            let source = self.content(source)?;
            return self.snapshot_of(source.id, snapshot).ok_or_else(not_found);
        }
        if let Some(snapshot) = Uuid::try_parse(name).ok().and_then(|id| self.snapshots.get(&id)) {
            return Ok(snapshot);
        }
        let mut named = self.snapshots.values().filter(|snapshot| snapshot.name == name);
        match (named.next(), named.next()) {
            (Some(snapshot), None) => Ok(snapshot),
            (None, _) => Err(not_found()),
            (Some(_), Some(_)) => {
                let mut candidates: Vec<String> = self
                    .snapshots
                    .values()
                    .filter(|snapshot| snapshot.name == name)
                    .map(|snapshot| self.full_name(snapshot))
                    .collect();
                candidates.sort();
                Err(SnapshotError::AmbiguousName { name: name.to_owned(), candidates: candidates.join(", ") }.into())
            }
        }
    }

    /// Snapshot of a volume or share by name.
    pub(crate) fn snapshot_of(&self, source: Uuid, name: &str) -> Option<&SnapshotRecord> {
        self.snapshots_of(source).find(|snapshot| snapshot.name == name)
    }

    /// Snapshots of a volume or share.
    pub fn snapshots_of(&self, source: Uuid) -> impl Iterator<Item = &SnapshotRecord> {
        self.index.snapshots_of(source).filter_map(|id| self.snapshots.get(&id))
    }

    /// True if the object is that of a volume, share or snapshot, in the trash or not. The pool may have others.
    pub(crate) fn has_object(&self, object: ObjectId) -> bool {
        self.index.has_object(object)
    }

    /// Objects of all volumes, shares and snapshots, those in the trash too.
    pub(crate) fn objects(&self) -> impl Iterator<Item = ObjectId> {
        let volumes = self.volumes.values().map(|volume| volume.object);
        let shares = self.shares.values().map(|share| share.object);
        let snapshots = self.snapshots.values().map(|snapshot| snapshot.object);
        volumes.chain(shares).chain(snapshots).chain(self.index.trash_objects())
    }

    /// Objects of the snapshots of a volume or share, sorted by id.
    pub(crate) fn snapshot_objects(&self, source: Uuid) -> Vec<ObjectId> {
        let mut objects: Vec<ObjectId> = self.snapshots_of(source).map(|snapshot| snapshot.object).collect();
        objects.sort_unstable();
        objects
    }

    /// Full name `volume@name` or `share@name`.
    pub(crate) fn full_name(&self, snapshot: &SnapshotRecord) -> String {
        format!("{}@{}", self.content_name(snapshot.volume).unwrap_or_default(), snapshot.name)
    }

    /// Name of a clone's source, if that still exists.
    pub(crate) fn source_name(&self, source: SourceRecord) -> Option<String> {
        match source {
            SourceRecord::Volume(id) | SourceRecord::Share(id) => self.content_name(id).map(str::to_owned),
            SourceRecord::Snapshot(id) => self.snapshots.get(&id).map(|snapshot| self.full_name(snapshot)),
        }
    }

    /// Grantee by name.
    pub(crate) fn grantee(&self, to: To) -> Grantee {
        match to {
            To::Any => Grantee::Any,
            To::Host(id) => Grantee::Host(self.hosts.get(&id).map(|host| host.name.clone()).unwrap_or_default()),
            To::Group(id) => {
                Grantee::Group(self.host_groups.get(&id).map(|group| group.name.clone()).unwrap_or_default())
            }
        }
    }

    /// Finds a host group by name or id.
    pub(crate) fn host_group(&self, name: &str) -> Result<&HostGroupRecord, ControlError> {
        let named = |name: &str| self.host_groups.values().find(|group| group.name == name).map(|group| group.id);
        by_name(&self.host_groups, name, named)
            .ok_or_else(|| ControlError::NotFound { noun: Noun::HostGroup, name: name.to_owned() })
    }

    /// Hosts of a group.
    pub(crate) fn members(&self, group: Uuid) -> impl Iterator<Item = Uuid> {
        self.host_groups.get(&group).into_iter().flat_map(|group| group.members.iter().copied())
    }

    /// Groups of a host.
    pub(crate) fn groups_of(&self, host: Uuid) -> impl Iterator<Item = &HostGroupRecord> {
        self.host_groups.values().filter(move |group| group.members.contains(&host))
    }

    /// True if a grant to `to` reaches this host directly or through a group.
    pub(crate) fn reaches(&self, to: To, host: Uuid) -> bool {
        match to {
            To::Any => false,
            To::Host(id) => id == host,
            To::Group(group) => self.host_groups.get(&group).is_some_and(|group| group.members.contains(&host)),
        }
    }

    /// True if an initiator may see grants to both: these need different logical unit numbers and
    /// volumes.
    pub(crate) fn overlap(&self, one: To, other: To) -> bool {
        match (one, other) {
            (To::Any, _) | (_, To::Any) => true,
            (To::Host(host), to) | (to, To::Host(host)) => self.reaches(to, host),
            (To::Group(one), To::Group(other)) => {
                one == other || self.members(one).any(|host| self.reaches(To::Group(other), host))
            }
        }
    }

    /// Grants of a volume, `any` first, then by host.
    pub(crate) fn access_of(&self, volume: Uuid) -> impl Iterator<Item = &AccessRecord> {
        self.access.range((volume, To::Any)..).take_while(move |access| access.volume == volume)
    }

    /// Grants to one grantee, by logical unit number.
    pub(crate) fn access_for(&self, to: To) -> impl Iterator<Item = &AccessRecord> {
        self.index.volumes_for(to).filter_map(move |volume| self.access.get(&(volume, to)))
    }

    /// Grants to one host, direct or through its groups.
    pub(crate) fn access_to(&self, host: Uuid) -> impl Iterator<Item = &AccessRecord> {
        let groups = self.groups_of(host).map(|group| To::Group(group.id));
        std::iter::once(To::Host(host)).chain(groups).flat_map(|to| self.access_for(to))
    }

    /// Grants that an initiator may see in addition to those to `to`.
    pub(crate) fn access_beside(&self, to: To) -> impl Iterator<Item = &AccessRecord> {
        self.index.grantees().filter(move |other| self.overlap(*other, to)).flat_map(|other| self.access_for(other))
    }
}

/// Finds a record by its name, or else by its id.
fn by_name<'a, R>(records: &'a Table<Uuid, R>, name: &str, named: impl Fn(&str) -> Option<Uuid>) -> Option<&'a R> {
    match Uuid::try_parse(name) {
        Ok(id) => records.get(&id),
        Err(_) => records.get(&named(name)?),
    }
}
