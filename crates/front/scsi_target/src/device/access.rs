//! Access control: which initiator sees which logical unit at which LUN. A grant names one
//! initiator, or any; an initiator's own grants take precedence over grants to any initiator. A
//! change of the LUNs that a nexus sees raises REPORTED LUNS DATA HAS CHANGED on every logical unit
//! that it still sees.

use crate::nexus::{ItlNexus, Nexus};
use crate::device::ScsiTarget;
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

/// A grant with its volume.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub volume: VolumeId,
    pub grant: Grant,
}

impl<D: BlockDevice> ScsiTarget<D> {
    /// Grants access, in place of an earlier grant of the volume to the same initiator (or to any).
    pub fn set_access(&self, volume: VolumeId, grant: Grant) -> Result<(), AccessError> {
        if grant.lun > LogicalUnitNumber::MAX {
            return Err(AccessError::LunTooLarge { lun: grant.lun });
        }
        if !self.units.borrow().contains_key(&volume) {
            return Err(AccessError::NoSuchVolume(volume));
        }
        {
            let mut access = self.access.borrow_mut();
            let taken = access.iter().find(|other| {
                other.volume != volume && other.grant.initiator == grant.initiator && other.grant.lun == grant.lun
            });
            if let Some(other) = taken {
                return Err(AccessError::LunInUse { lun: grant.lun, volume: other.volume });
            }
            access.retain(|other| other.volume != volume || other.grant.initiator != grant.initiator);
            access.push(Access { volume, grant });
        }
        self.refresh_views();
        Ok(())
    }

    /// Revokes the grant to this initiator (`None`: to any). Returns false if there was none.
    pub fn revoke(&self, volume: VolumeId, initiator: Option<&str>) -> bool {
        let removed = {
            let mut access = self.access.borrow_mut();
            let before = access.len();
            access.retain(|other| other.volume != volume || other.grant.initiator.as_deref() != initiator);
            access.len() != before
        };
        if removed {
            self.refresh_views();
        }
        removed
    }

    /// Every grant of a volume.
    pub fn grants(&self, volume: VolumeId) -> Vec<Grant> {
        let access = self.access.borrow();
        access.iter().filter(|entry| entry.volume == volume).map(|entry| entry.grant.clone()).collect()
    }

    /// What an initiator sees: LUN and volume, by LUN.
    pub fn luns_of(&self, initiator: &str) -> BTreeMap<u16, VolumeId> {
        let access = self.access.borrow();
        let mut luns = BTreeMap::new();
        for entry in access.iter().filter(|entry| entry.grant.initiator.as_deref() == Some(initiator)) {
            luns.insert(entry.grant.lun, entry.volume);
        }
        let own: BTreeSet<VolumeId> = luns.values().copied().collect();
        for entry in access.iter().filter(|entry| entry.grant.initiator.is_none()) {
            if !own.contains(&entry.volume) {
                luns.entry(entry.grant.lun).or_insert(entry.volume);
            }
        }
        luns
    }

    pub(crate) fn refresh_views(&self) {
        for nexus in self.nexuses.borrow().all() {
            self.refresh_view(&nexus, true);
        }
    }

    /// Recomputes the LUNs that a nexus sees. Unit attentions that are pending on a logical unit
    /// survive a change of its LUN, and wait while the nexus does not see it.
    pub(crate) fn refresh_view(&self, nexus: &Nexus<D>, announce: bool) {
        let luns = self.luns_of(&nexus.initiator);
        let old = nexus.view();
        let units = self.units.borrow();
        let mut view = Vec::with_capacity(luns.len());
        let mut changed = false;
        for (lun, volume) in luns {
            let Some(unit) = units.get(&volume) else { continue };
            let lun = LogicalUnitNumber(lun);
            let same_lun = old.binary_search_by_key(&lun, |path| path.lun).ok().and_then(|index| old.get(index));
            let kept = same_lun.filter(|path| Rc::ptr_eq(&path.unit, unit));
            changed |= kept.is_none();
            let path = kept.cloned().unwrap_or_else(|| {
                let elsewhere = old.iter().find(|path| Rc::ptr_eq(&path.unit, unit));
                let attentions = elsewhere.map_or_else(|| nexus.take_aside(unit), |path| path.take_attentions());
                Rc::new(ItlNexus::new(lun, Rc::clone(unit), attentions))
            });
            view.push(path);
        }
        changed |= view.len() != old.len();
        if !changed {
            return;
        }
        let visible: BTreeSet<VolumeId> = view.iter().map(|path| path.unit.volume()).collect();
        for path in &old {
            if !visible.contains(&path.unit.volume()) {
                path.unit.forget(nexus.id);
                nexus.put_aside(path);
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
