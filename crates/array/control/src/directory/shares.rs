//! Shares and export rules of the directory.

use super::{Directory, by_name};
use crate::catalog::DynCatalog;
use crate::condition::Noun;
use crate::error::ControlError;
use crate::exports::ExportGrantee;
use crate::exports::record::{ExportRecord, ExportTo};
use crate::record::Document;
use crate::shares::record::ShareRecord;
use crate::volumes::record::{SourceRecord, VolumeRecord};
use pool::{ObjectId, ObjectKind};
use uuid::Uuid;

/// Volume or share, of which snapshots are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// Id.
    pub id: Uuid,
    /// Object in the pool.
    pub object: ObjectId,
    /// Name.
    pub name: String,
    /// True for a share, false for a volume.
    pub is_share: bool,
}

impl From<&VolumeRecord> for Content {
    fn from(volume: &VolumeRecord) -> Self {
        Self { id: volume.id, object: volume.object, name: volume.name.clone(), is_share: false }
    }
}

impl From<&ShareRecord> for Content {
    fn from(share: &ShareRecord) -> Self {
        Self { id: share.id, object: share.object, name: share.name.clone(), is_share: true }
    }
}

impl Directory {
    /// Checks that every object and record that a document of a share refers to exists.
    pub(super) fn check_shares(&self, catalog: &dyn DynCatalog) -> Result<(), ControlError> {
        let damaged = |reason: String| Err(ControlError::Damaged { reason });
        for share in self.shares.values() {
            let object = catalog.object(share.object);
            if !object.is_some_and(|info| info.kind == ObjectKind::Volume && info.is_address_space()) {
                return damaged(format!("share {} has no address space in the pool", share.name));
            }
        }
        for export in self.exports.values() {
            let missing = match export.to {
                ExportTo::Host(host) => !self.hosts.contains_key(&host),
                ExportTo::Group(group) => !self.host_groups.contains_key(&group),
                ExportTo::Network(_) | ExportTo::Any => false,
            };
            if missing || !self.shares.contains_key(&export.share) {
                return damaged(format!("{} is about a share or a host that is not there", export.key()));
            }
        }
        Ok(())
    }

    /// All shares in order of creation.
    pub fn shares(&self) -> impl Iterator<Item = &ShareRecord> + Clone {
        self.shares.values()
    }

    /// Share stored in an object.
    pub fn share_of(&self, object: ObjectId) -> Option<&ShareRecord> {
        self.shares.get(&self.index.share_in(object)?)
    }

    /// Number of shares.
    pub(crate) fn share_count(&self) -> usize {
        self.shares.len()
    }

    /// Share with this id.
    pub(crate) fn share_by_id(&self, id: Uuid) -> Option<&ShareRecord> {
        self.shares.get(&id)
    }

    /// Finds a volume or share by name or id. An unknown name is reported as that of a volume.
    pub(crate) fn content(&self, name: &str) -> Result<Content, ControlError> {
        if let Ok(share) = self.share(name) {
            return Ok(share.into());
        }
        Ok(self.volume(name)?.into())
    }

    /// Name of the volume or share with this id.
    pub(crate) fn content_name(&self, id: Uuid) -> Option<&str> {
        let volume = self.volumes.get(&id).map(|volume| volume.name.as_str());
        volume.or_else(|| self.shares.get(&id).map(|share| share.name.as_str()))
    }

    /// Name of the volume or share in an object.
    pub(crate) fn name_of(&self, object: ObjectId) -> Option<&str> {
        let volume = self.volume_of(object).map(|volume| volume.name.as_str());
        volume.or_else(|| self.share_of(object).map(|share| share.name.as_str()))
    }

    /// Shares cloned from a share or the snapshot of one.
    pub(crate) fn share_clones_of(&self, source: SourceRecord) -> impl Iterator<Item = &ShareRecord> {
        self.index.clones_of(source).filter_map(|id| self.shares.get(&id))
    }

    /// Shares by name.
    pub(crate) fn shares_by_name(&self) -> impl Iterator<Item = &ShareRecord> {
        self.index.shares_by_name().filter_map(|id| self.shares.get(&id))
    }

    /// Finds a share by name or id.
    pub(crate) fn share(&self, name: &str) -> Result<&ShareRecord, ControlError> {
        by_name(&self.shares, name, |name| self.index.share_named(name))
            .ok_or_else(|| ControlError::NotFound { noun: Noun::Share, name: name.to_owned() })
    }

    /// Finds the object of a share by name or id, or of a snapshot of one as `SHARE@SNAPSHOT`.
    pub(crate) fn exported(&self, name: &str) -> Result<ObjectId, ControlError> {
        let Some((share, _)) = name.split_once('@') else { return Ok(self.share(name)?.object) };
        self.share(share)?;
        Ok(self.snapshot(name)?.object)
    }

    /// Checks that no volume and no share has this name.
    pub(crate) fn check_name_free(&self, name: &str) -> Result<(), ControlError> {
        let noun = match (self.index.volume_named(name), self.index.share_named(name)) {
            (None, None) => return Ok(()),
            (Some(_), _) => Noun::Volume,
            (None, Some(_)) => Noun::Share,
        };
        Err(ControlError::Exists { noun, name: name.to_owned(), difference: None })
    }

    /// All export rules, by share and hosts.
    pub(crate) fn exports(&self) -> impl Iterator<Item = &ExportRecord> {
        self.exports.values()
    }

    /// Export rules of a share.
    pub(crate) fn exports_by_share(&self, share: Uuid) -> impl Iterator<Item = &ExportRecord> {
        self.exports.range((share, ExportTo::Host(Uuid::nil()))..=(share, ExportTo::Any))
    }

    /// Export rule of a share about these hosts.
    pub(crate) fn export_between(&self, share: Uuid, to: ExportTo) -> Option<&ExportRecord> {
        self.exports.get(&(share, to))
    }

    /// Names of the shares with a rule about these hosts.
    pub(crate) fn shares_granted_to(&self, to: ExportTo) -> impl Iterator<Item = &str> {
        let exports = self.exports.values().filter(move |export| export.to == to);
        exports.filter_map(|export| Some(self.shares.get(&export.share)?.name.as_str()))
    }

    /// Hosts of an export rule by name.
    pub(crate) fn export_grantee(&self, to: ExportTo) -> ExportGrantee {
        match to {
            ExportTo::Host(id) => {
                ExportGrantee::Host(self.hosts.get(&id).map(|host| host.name.clone()).unwrap_or_default())
            }
            ExportTo::Group(id) => {
                ExportGrantee::Group(self.host_groups.get(&id).map(|group| group.name.clone()).unwrap_or_default())
            }
            ExportTo::Network(network) => ExportGrantee::Network(network),
            ExportTo::Any => ExportGrantee::Any,
        }
    }
}
