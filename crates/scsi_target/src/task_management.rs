//! The part of task management that is state (SAM-5 §7): what a reset or a cleared task set leaves behind. The transport owns the
//! tasks; it lets their futures finish before it calls here and answers after.

use crate::nexus::NexusId;
use crate::target::ScsiTarget;
use block::{BlockDevice, VolumeId};
use scsi::{AdditionalSense, LogicalUnitNumber};
use thiserror::Error;

/// Why a task management function was not executed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TaskManagementError {
    /// No logical unit at this LUN (RFC 7143 §11.6.1 response 2).
    #[error("no logical unit at this LUN")]
    LunDoesNotExist,
}

impl<D: BlockDevice> ScsiTarget<D> {
    /// The volume that a nexus sees at a LUN: tasks of other nexuses on it belong to the same task set.
    pub fn volume_at(&self, nexus: NexusId, lun: [u8; 8]) -> Option<VolumeId> {
        let nexus = self.nexuses.borrow().get(nexus)?;
        Some(nexus.at(LogicalUnitNumber::decode(lun)?)?.unit.volume)
    }

    /// ABORT TASK SET: checks the LUN. No state is left behind.
    pub fn abort_task_set(&self, nexus: NexusId, lun: [u8; 8]) -> Result<VolumeId, TaskManagementError> {
        self.volume_at(nexus, lun).ok_or(TaskManagementError::LunDoesNotExist)
    }

    /// CLEAR TASK SET: every other nexus whose tasks may have been cleared gets COMMANDS CLEARED BY ANOTHER INITIATOR.
    /// `affected` are the nexuses that lost tasks.
    pub fn clear_task_set(
        &self,
        nexus: NexusId,
        lun: [u8; 8],
        affected: &[NexusId],
    ) -> Result<VolumeId, TaskManagementError> {
        let volume = self.volume_at(nexus, lun).ok_or(TaskManagementError::LunDoesNotExist)?;
        self.raise_where(volume, AdditionalSense::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR, |other| {
            other != nexus && affected.contains(&other)
        });
        Ok(volume)
    }

    /// LOGICAL UNIT RESET: reservation and volatile mode parameters are gone, every nexus gets BUS DEVICE RESET FUNCTION OCCURRED.
    pub fn logical_unit_reset(&self, nexus: NexusId, lun: [u8; 8]) -> Result<VolumeId, TaskManagementError> {
        let volume = self.volume_at(nexus, lun).ok_or(TaskManagementError::LunDoesNotExist)?;
        self.reset_volume(volume);
        Ok(volume)
    }

    /// TARGET WARM RESET and TARGET COLD RESET: as a logical unit reset of every logical unit, and held copy results are gone.
    pub fn target_reset(&self) {
        let volumes: Vec<VolumeId> = self.units.borrow().keys().copied().collect();
        for volume in volumes {
            self.reset_volume(volume);
        }
        for nexus in self.nexuses.borrow().all() {
            nexus.copies.clear();
        }
    }

    fn reset_volume(&self, volume: VolumeId) {
        if let Some(unit) = self.units.borrow().get(&volume) {
            unit.reset();
        }
        self.raise_where(volume, AdditionalSense::BUS_DEVICE_RESET_FUNCTION_OCCURRED, |_| true);
    }
}
