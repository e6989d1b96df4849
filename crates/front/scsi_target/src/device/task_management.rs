//! Task management (SAM-5 §7), as far as it changes state: effects of a reset or a cleared task
//! set. The transport owns the tasks; it lets their futures finish before it calls these functions,
//! and answers afterwards.

use super::ScsiTarget;
use crate::nexus_id::NexusId;
use block::{BlockDevice, VolumeId};
use scsi::{AdditionalSense, LogicalUnitNumber, SenseKey};
use std::collections::BTreeSet;
use thiserror::Error;

/// Reason why a task management function was not executed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TaskManagementError {
    /// No logical unit at this LUN (RFC 7143 §11.6.1 response 2).
    #[error("no logical unit at this LUN")]
    LunDoesNotExist,
}

impl<D: BlockDevice> ScsiTarget<D> {
    /// Volume that a nexus sees at a LUN: tasks of other nexuses on it belong to the same task set.
    pub fn volume_at(&self, nexus: NexusId, lun: [u8; 8]) -> Option<VolumeId> {
        let nexus = self.nexuses.borrow().get(nexus)?;
        Some(nexus.at(LogicalUnitNumber::decode(lun)?)?.unit().volume())
    }

    /// ABORT TASK SET: checks the LUN. No state changes.
    pub fn abort_task_set(&self, nexus: NexusId, lun: [u8; 8]) -> Result<VolumeId, TaskManagementError> {
        self.volume_at(nexus, lun).ok_or(TaskManagementError::LunDoesNotExist)
    }

    /// CLEAR TASK SET: raises COMMANDS CLEARED BY ANOTHER INITIATOR on every other nexus in
    /// `affected`, the nexuses that lost tasks.
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

    /// LOGICAL UNIT RESET: clears RESERVE and volatile mode parameters, and raises BUS DEVICE RESET
    /// FUNCTION OCCURRED on every nexus.
    pub fn logical_unit_reset(&self, nexus: NexusId, lun: [u8; 8]) -> Result<VolumeId, TaskManagementError> {
        let volume = self.volume_at(nexus, lun).ok_or(TaskManagementError::LunDoesNotExist)?;
        self.reset_volume(volume);
        Ok(volume)
    }

    /// Volumes that a nexus sees, which a target reset from it affects.
    pub fn volumes_of(&self, nexus: NexusId) -> BTreeSet<VolumeId> {
        let nexus = self.nexuses.borrow().get(nexus);
        nexus.map_or_else(BTreeSet::new, |nexus| nexus.view().iter().map(|path| path.unit().volume()).collect())
    }

    /// TARGET WARM RESET and TARGET COLD RESET: resets logical units as LOGICAL UNIT RESET does,
    /// and discards held copy results.
    ///
    /// For an initiator the target consists of the logical units granted to it. The reset therefore
    /// affects only the logical units that the nexus sees, and the copy results of nexuses that see
    /// one of them: hosts that share nothing do not end each other's commands.
    pub fn target_reset(&self, nexus: NexusId) {
        let volumes = self.volumes_of(nexus);
        for volume in &volumes {
            if let Some(logical_unit) = self.logical_units.borrow().get(volume) {
                logical_unit.reset();
            }
        }
        // One pass over the paths of each nexus, not one for each volume.
        for nexus in self.nexuses.borrow().all() {
            let mut sees = false;
            for path in nexus.view().iter().filter(|path| volumes.contains(&path.unit().volume())) {
                path.raise(AdditionalSense::BUS_DEVICE_RESET_FUNCTION_OCCURRED);
                sees = true;
            }
            if sees {
                nexus.copies.clear();
            }
        }
    }

    /// Ends commands that write to a volume in several steps or still wait for their Data-Out, with
    /// COMMANDS CLEARED BY DEVICE SERVER, and waits for the other writes. Called before the
    /// volume's content is replaced.
    pub async fn clear_commands(&self, volume: VolumeId) {
        if let Some(logical_unit) = self.logical_unit(volume) {
            logical_unit.unit().renew_content();
            logical_unit.unit().writes.drained().await;
        }
    }

    /// Waits until every write on a volume that was admitted before the first poll has ended.
    /// Commands forbidden before the call have no effect after it.
    pub async fn writes_done(&self, volume: VolumeId) {
        if let Some(logical_unit) = self.logical_unit(volume) {
            logical_unit.unit().writes.drained().await;
        }
    }

    /// Sets whether the session of a nexus carries QUERY TASK, QUERY TASK SET, QUERY ASYNCHRONOUS
    /// EVENT and I_T NEXUS RESET (RFC 7144).
    pub fn set_query_functions(&self, nexus: NexusId, carried: bool) {
        if let Some(nexus) = self.nexuses.borrow().get(nexus) {
            nexus.set_query_functions(carried);
        }
    }

    /// QUERY ASYNCHRONOUS EVENT: returns sense key, additional sense code and qualifier of the unit
    /// attention that the nexus's next command on the logical unit will report, and leaves it
    /// pending; `None` when none is pending.
    pub fn query_asynchronous_event(
        &self,
        nexus: NexusId,
        lun: [u8; 8],
    ) -> Result<Option<[u8; 3]>, TaskManagementError> {
        let volume = self.volume_at(nexus, lun).ok_or(TaskManagementError::LunDoesNotExist)?;
        let nexus = self.nexuses.borrow().get(nexus).ok_or(TaskManagementError::LunDoesNotExist)?;
        let waiting = self.pending_attention(&nexus, volume);
        Ok(waiting.map(|attention| [SenseKey::UNIT_ATTENTION.0, attention.code(), attention.qualifier()]))
    }

    /// I_T NEXUS RESET: has the effect of a nexus loss, but the session continues. RESERVE,
    /// prevention of removal and copy results are removed, and each logical unit raises I_T NEXUS
    /// LOSS OCCURRED (SAM-5 §6.3.4). The transport has ended the tasks before.
    pub fn nexus_reset(&self, nexus: NexusId) {
        let Some(nexus) = self.nexuses.borrow().get(nexus) else { return };
        for logical_unit in self.logical_units.borrow().values() {
            logical_unit.forget(nexus.id);
        }
        nexus.copies.clear();
        for path in nexus.view() {
            path.raise(AdditionalSense::I_T_NEXUS_LOSS_OCCURRED);
        }
    }

    fn reset_volume(&self, volume: VolumeId) {
        if let Some(logical_unit) = self.logical_units.borrow().get(&volume) {
            logical_unit.reset();
        }
        self.raise_where(volume, AdditionalSense::BUS_DEVICE_RESET_FUNCTION_OCCURRED, |_| true);
    }
}
