//! The array's state in memory: a copy of the documents, indexed for lookup. The documents are the truth; this is rebuilt from them at
//! every start and changed only after a commit.

use crate::catalog::DynCatalog;
use crate::record::load;
use crate::{
    AccessRecord, ArrayRecord, Chap, ControlError, Grantee, HostGroupRecord, HostRecord, Noun, PortGroupRecord,
    PortalRecord, SnapshotRecord, SourceRecord, To, VolumeRecord,
};
use pool::{ObjectId, ObjectKind};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Names, hosts and access. The running target reads it; only `control` changes it, with
/// `Directory::apply`.
#[derive(Clone, Debug)]
pub struct Directory {
    pub(crate) array: ArrayRecord,
    pub(crate) target: String,
    pub(crate) volumes: BTreeMap<Uuid, VolumeRecord>,
    pub(crate) snapshots: BTreeMap<Uuid, SnapshotRecord>,
    pub(crate) hosts: BTreeMap<Uuid, HostRecord>,
    pub(crate) host_groups: BTreeMap<Uuid, HostGroupRecord>,
    pub(crate) access: BTreeMap<(Uuid, To), AccessRecord>,
    pub(crate) portals: BTreeMap<u16, PortalRecord>,
    pub(crate) port_groups: BTreeMap<u16, PortGroupRecord>,
    /// Of the configured portals, in the order of the configuration.
    pub(crate) port_identifiers: Vec<u16>,
    /// Groups that the configuration names, by port.
    pub(crate) configured_groups: BTreeMap<u16, u16>,
}

/// What an initiator may do: who it is, how it must authenticate, what it sees.
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
        let directory = Self {
            array,
            target,
            volumes: load(catalog)?.into_iter().map(|record: VolumeRecord| (record.id, record)).collect(),
            snapshots: load(catalog)?.into_iter().map(|record: SnapshotRecord| (record.id, record)).collect(),
            hosts: load(catalog)?.into_iter().map(|record: HostRecord| (record.id, record)).collect(),
            host_groups: load(catalog)?.into_iter().map(|record: HostGroupRecord| (record.id, record)).collect(),
            access: load(catalog)?
                .into_iter()
                .map(|record: AccessRecord| ((record.volume, record.to()), record))
                .collect(),
            portals: load(catalog)?.into_iter().map(|record: PortalRecord| (record.identifier, record)).collect(),
            port_groups: load(catalog)?
                .into_iter()
                .map(|record: PortGroupRecord| (record.identifier, record))
                .collect(),
            port_identifiers: Vec::new(),
            configured_groups: BTreeMap::new(),
        };
        directory.check(catalog)?;
        Ok(directory)
    }

    /// Everything a document refers to is there.
    fn check(&self, catalog: &dyn DynCatalog) -> Result<(), ControlError> {
        let damaged = |reason: String| Err(ControlError::Damaged { reason });
        let is_kind = |object, kind| catalog.object(object).is_some_and(|info| info.kind == kind);
        for volume in self.volumes.values() {
            if !is_kind(volume.object, ObjectKind::Volume) {
                return damaged(format!("volume {} has no object in the pool", volume.name));
            }
        }
        for snapshot in self.snapshots.values() {
            if !is_kind(snapshot.object, ObjectKind::Snapshot) || !self.volumes.contains_key(&snapshot.volume) {
                return damaged(format!("snapshot {} has no object or no volume", snapshot.name));
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
        Ok(())
    }

    /// Identity of the array.
    pub fn array(&self) -> &ArrayRecord {
        &self.array
    }

    /// Name of the iSCSI target.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Every volume, in the order in which they were made.
    pub fn volumes(&self) -> impl Iterator<Item = &VolumeRecord> {
        self.volumes.values()
    }

    /// The volume kept in an object.
    pub fn volume_of(&self, object: ObjectId) -> Option<&VolumeRecord> {
        self.volumes.values().find(|volume| volume.object == object)
    }

    /// What the initiator of this name (in any case) may do.
    pub fn nexus(&self, initiator: &str) -> Nexus {
        let host = self.host_of(initiator);
        let mut logical_units: Vec<LogicalUnit> = self
            .access
            .values()
            .filter(|access| access.to() == To::Any || host.is_some_and(|host| self.reaches(access.to(), host.id)))
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

    /// Every grant, one to a group as one to each member: the volume's object, the host (absent: every initiator) and the
    /// logical unit number.
    pub fn grants(&self) -> impl Iterator<Item = (ObjectId, Option<&HostRecord>, u16)> {
        self.access.values().flat_map(|access| {
            let hosts: Vec<Option<&HostRecord>> = match access.to() {
                To::Any => vec![None],
                To::Host(host) => self.hosts.get(&host).map(Some).into_iter().collect(),
                To::Group(group) => self.members(group).filter_map(|host| self.hosts.get(&host)).map(Some).collect(),
            };
            let object = self.volumes.get(&access.volume).map(|volume| volume.object);
            hosts.into_iter().filter_map(move |host| Some((object?, host, access.lun)))
        })
    }

    /// The host that an initiator belongs to.
    pub fn host_of(&self, initiator: &str) -> Option<&HostRecord> {
        self.hosts.values().find(|host| host.iqns.iter().any(|iqn| iqn.eq_ignore_ascii_case(initiator)))
    }

    /// A volume by name or id.
    pub(crate) fn volume(&self, name: &str) -> Result<&VolumeRecord, ControlError> {
        find(self.volumes.values(), name, |volume| (&volume.name, volume.id))
            .ok_or_else(|| ControlError::NotFound { noun: Noun::Volume, name: name.to_owned() })
    }

    /// Finds a host by name or id.
    pub(crate) fn host(&self, name: &str) -> Result<&HostRecord, ControlError> {
        find(self.hosts.values(), name, |host| (&host.name, host.id))
            .ok_or_else(|| ControlError::NotFound { noun: Noun::Host, name: name.to_owned() })
    }

    /// Finds a snapshot by `volume@name`, id, or a name that is unique among all snapshots.
    pub(crate) fn snapshot(&self, name: &str) -> Result<&SnapshotRecord, ControlError> {
        let not_found = || ControlError::NotFound { noun: Noun::Snapshot, name: name.to_owned() };
        if let Some((volume, snapshot)) = name.split_once('@') {
            let volume = self.volume(volume)?;
            return self.snapshot_of(volume.id, snapshot).ok_or_else(not_found);
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
                Err(ControlError::AmbiguousName { name: name.to_owned(), candidates: candidates.join(", ") })
            }
        }
    }

    /// Snapshot of a volume by name.
    pub(crate) fn snapshot_of(&self, volume: Uuid, name: &str) -> Option<&SnapshotRecord> {
        self.snapshots.values().find(|snapshot| snapshot.volume == volume && snapshot.name == name)
    }

    /// The objects of a volume's snapshots, by id.
    pub(crate) fn snapshot_objects(&self, volume: Uuid) -> Vec<ObjectId> {
        let snapshots = self.snapshots.values().filter(|snapshot| snapshot.volume == volume);
        let mut objects: Vec<ObjectId> = snapshots.map(|snapshot| snapshot.object).collect();
        objects.sort_unstable();
        objects
    }

    /// Full name `volume@name`.
    pub(crate) fn full_name(&self, snapshot: &SnapshotRecord) -> String {
        let volume = self.volumes.get(&snapshot.volume).map_or("", |volume| volume.name.as_str());
        format!("{volume}@{}", snapshot.name)
    }

    /// Name of a clone's source, if that still exists.
    pub(crate) fn source_name(&self, source: SourceRecord) -> Option<String> {
        match source {
            SourceRecord::Volume(id) => self.volumes.get(&id).map(|volume| volume.name.clone()),
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
        find(self.host_groups.values(), name, |group| (&group.name, group.id))
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
        self.access
            .range((volume, To::Any)..)
            .map(|(_, access)| access)
            .take_while(move |access| access.volume == volume)
    }

    /// The grants to one host, by itself or by its groups.
    pub(crate) fn access_to(&self, host: Uuid) -> impl Iterator<Item = &AccessRecord> {
        self.access.values().filter(move |access| self.reaches(access.to(), host))
    }
}

/// Finds a record by its name, or else by its id.
fn find<'a, R>(
    mut records: impl Iterator<Item = &'a R> + Clone,
    name: &str,
    key: impl Fn(&'a R) -> (&'a String, Uuid),
) -> Option<&'a R> {
    match Uuid::try_parse(name) {
        Ok(wanted) => records.find(|record| key(record).1 == wanted),
        Err(_) => records.find(|record| key(record).0 == name),
    }
}
