//! Access control: which initiator sees which logical unit at which LUN. A grant names one
//! initiator, or any; an initiator's own grants take precedence over grants to any initiator. A
//! change of the LUNs that a nexus sees raises REPORTED LUNS DATA HAS CHANGED on every logical unit
//! that it still sees.

use super::ScsiTarget;
use crate::nexus::{ItlNexus, Nexus};
use block::{BlockDevice, VolumeId};
use scsi::{AdditionalSense, LogicalUnitNumber};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use thiserror::Error;

/// Grant of access to one volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Name of the initiator, as passed to [`ScsiTarget::attach_nexus`]; `None` for any.
    pub initiator: Option<String>,
    /// LUN, at most 16 383. Every host understands LUNs up to 255.
    pub lun: u16,
}

/// Reason why access was not granted. Nothing was changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AccessError {
    /// No logical unit has this volume.
    #[error("volume {} is not a logical unit of this target", .0.0)]
    NoSuchVolume(VolumeId),
    /// The same initiator sees another volume at this LUN.
    #[error("LUN {lun} is taken by volume {}", .volume.0)]
    LunInUse {
        /// The LUN.
        lun: u16,
        /// Volume that has the LUN.
        volume: VolumeId,
    },
    /// LUN above [`LogicalUnitNumber::MAX`].
    #[error("LUN {lun} is above {max}", max = LogicalUnitNumber::MAX)]
    LunTooLarge {
        /// The LUN.
        lun: u16,
    },
}

/// Every grant, by initiator and by volume.
#[derive(Debug, Default)]
pub(crate) struct AccessTable {
    /// Volumes by LUN. `None`: for any initiator.
    luns: BTreeMap<Option<String>, BTreeMap<u16, VolumeId>>,
    volumes: BTreeMap<VolumeId, BTreeMap<Option<String>, u16>>,
}

impl AccessTable {
    /// Grants access, in place of an earlier grant of the volume to the same initiator. Errors: the LUN is another
    /// volume's.
    fn set(&mut self, volume: VolumeId, Grant { initiator, lun }: Grant) -> Result<(), AccessError> {
        let taken = self.luns.get(&initiator).and_then(|luns| luns.get(&lun)).filter(|other| **other != volume);
        if let Some(other) = taken {
            return Err(AccessError::LunInUse { lun, volume: *other });
        }
        self.remove(volume, &initiator);
        self.luns.entry(initiator.clone()).or_default().insert(lun, volume);
        self.volumes.entry(volume).or_default().insert(initiator, lun);
        Ok(())
    }

    /// Takes a grant back. False when there is none.
    fn remove(&mut self, volume: VolumeId, initiator: &Option<String>) -> bool {
        let Some(grants) = self.volumes.get_mut(&volume) else { return false };
        let Some(lun) = grants.remove(initiator) else { return false };
        if grants.is_empty() {
            self.volumes.remove(&volume);
        }
        if let Some(luns) = self.luns.get_mut(initiator) {
            luns.remove(&lun);
            if luns.is_empty() {
                self.luns.remove(initiator);
            }
        }
        true
    }

    fn of(&self, volume: VolumeId) -> impl Iterator<Item = Grant> {
        let grants = self.volumes.get(&volume).into_iter().flatten();
        grants.map(|(initiator, lun)| Grant { initiator: initiator.clone(), lun: *lun })
    }

    fn luns(&self, initiator: Option<&str>) -> impl Iterator<Item = (u16, VolumeId)> {
        let luns = self.luns.get(&initiator.map(str::to_owned)).into_iter().flatten();
        luns.map(|(lun, volume)| (*lun, *volume))
    }
}

impl<D: BlockDevice> ScsiTarget<D> {
    /// Grants access, in place of an earlier grant of the volume to the same initiator (or to any).
    pub fn set_access(&self, volume: VolumeId, grant: Grant) -> Result<(), AccessError> {
        if grant.lun > LogicalUnitNumber::MAX {
            return Err(AccessError::LunTooLarge { lun: grant.lun });
        }
        if !self.logical_units.borrow().contains_key(&volume) {
            return Err(AccessError::NoSuchVolume(volume));
        }
        let initiator = grant.initiator.clone();
        self.access.borrow_mut().set(volume, grant)?;
        self.refresh_views_of(initiator.as_deref());
        Ok(())
    }

    /// Revokes the grant to this initiator (`None`: to any). Returns false if there was none.
    pub fn revoke(&self, volume: VolumeId, initiator: Option<&str>) -> bool {
        let removed = self.access.borrow_mut().remove(volume, &initiator.map(str::to_owned));
        if removed {
            self.refresh_views_of(initiator);
        }
        removed
    }

    /// Takes back every grant of a volume.
    pub(crate) fn revoke_all(&self, volume: VolumeId) {
        for grant in self.grants(volume) {
            self.revoke(volume, grant.initiator.as_deref());
        }
    }

    /// Grants of a volume.
    pub fn grants(&self, volume: VolumeId) -> Vec<Grant> {
        self.access.borrow().of(volume).collect()
    }

    /// LUNs that an initiator sees, with their volumes, ascending.
    pub fn luns_of(&self, initiator: &str) -> BTreeMap<u16, VolumeId> {
        let access = self.access.borrow();
        let mut luns: BTreeMap<u16, VolumeId> = access.luns(Some(initiator)).collect();
        let own: BTreeSet<VolumeId> = luns.values().copied().collect();
        for (lun, volume) in access.luns(None).filter(|(_, volume)| !own.contains(volume)) {
            luns.entry(lun).or_insert(volume);
        }
        luns
    }

    /// Recomputes what the nexuses of an initiator see, or without one what all see.
    fn refresh_views_of(&self, initiator: Option<&str>) {
        for nexus in self.nexuses.borrow().all() {
            if initiator.is_none_or(|initiator| *nexus.initiator == *initiator) {
                self.refresh_view(&nexus, true);
            }
        }
    }

    /// Recomputes the LUNs that a nexus sees. Unit attentions that are pending on a logical unit
    /// survive a change of its LUN, and wait while the nexus does not see it.
    pub(crate) fn refresh_view(&self, nexus: &Nexus<D>, announce: bool) {
        let luns = self.luns_of(&nexus.initiator);
        let old = nexus.view();
        let units = self.logical_units.borrow();
        let mut view = Vec::with_capacity(luns.len());
        let mut changed = false;
        for (lun, volume) in luns {
            let Some(unit) = units.get(&volume) else { continue };
            let lun = LogicalUnitNumber(lun);
            let same_lun = old.binary_search_by_key(&lun, |path| path.lun).ok().and_then(|index| old.get(index));
            let kept = same_lun.filter(|path| Rc::ptr_eq(&path.logical_unit, unit));
            changed |= kept.is_none();
            let path = kept.cloned().unwrap_or_else(|| {
                let elsewhere = old.iter().find(|path| Rc::ptr_eq(&path.logical_unit, unit));
                let attentions =
                    elsewhere.map_or_else(|| nexus.restore_attentions(unit), |path| path.take_attentions());
                Rc::new(ItlNexus::new(lun, Rc::clone(unit), attentions))
            });
            view.push(path);
        }
        changed |= view.len() != old.len();
        if !changed {
            return;
        }
        let visible: BTreeSet<VolumeId> = view.iter().map(|path| path.unit().volume()).collect();
        for path in &old {
            if !visible.contains(&path.unit().volume()) {
                path.logical_unit.forget(nexus.id);
                nexus.keep_attentions(path);
            }
        }
        if announce {
            for path in &view {
                path.raise(AdditionalSense::REPORTED_LUNS_DATA_HAS_CHANGED);
            }
        }
        nexus.set_view(view);
    }
}
