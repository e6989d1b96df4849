//! The part of task management that is state (SAM-5 §7): what a reset or a cleared task set leaves behind. The transport owns the
//! tasks; it lets their futures finish before it calls here and answers after.

use crate::nexus::{Nexus, NexusId};
use crate::target::ScsiTarget;
use block::{BlockDevice, VolumeId};
use scsi::{AdditionalSense, LogicalUnitNumber, SenseKey};
use std::rc::Rc;
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
        Some(nexus.at(LogicalUnitNumber::decode(lun)?)?.unit.volume())
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

    /// The volumes that a nexus sees: what a target reset from it reaches.
    pub fn volumes_of(&self, nexus: NexusId) -> Vec<VolumeId> {
        let nexus = self.nexuses.borrow().get(nexus);
        nexus.map_or_else(Vec::new, |nexus| nexus.view().iter().map(|path| path.unit.volume()).collect())
    }

    /// TARGET WARM RESET and TARGET COLD RESET: as a logical unit reset of every logical unit, and held copy results are gone.
    ///
    /// To an initiator the target consists of what it was granted, so this is about the logical units that the nexus sees, and the copies of those who see
    /// one of them: hosts that have nothing in common do not end each other's commands.
    pub fn target_reset(&self, nexus: NexusId) {
        let volumes = self.volumes_of(nexus);
        for volume in &volumes {
            self.reset_volume(*volume);
        }
        for nexus in self.nexuses_that_see(&volumes) {
            nexus.copies.clear();
        }
    }

    fn nexuses_that_see(&self, volumes: &[VolumeId]) -> Vec<Rc<Nexus<D>>> {
        let sees = |nexus: &Rc<Nexus<D>>| nexus.find(|unit| volumes.contains(&unit.volume())).is_some();
        self.nexuses.borrow().all().into_iter().filter(sees).collect()
    }

    /// Ends what writes to a volume in several steps, or still waits for its Data-Out, with COMMANDS CLEARED BY DEVICE SERVER, and waits for the other
    /// writes: its content is about to become another.
    pub async fn clear_commands(&self, volume: VolumeId) {
        if let Some(unit) = self.unit(volume) {
            unit.renew_content();
            unit.writes.drained().await;
        }
    }

    /// Waits until no write is in flight on a volume that was admitted before this was first polled: what was forbidden before this has no effect after it.
    pub async fn writes_done(&self, volume: VolumeId) {
        if let Some(unit) = self.unit(volume) {
            unit.writes.drained().await;
        }
    }

    /// The session of a nexus carries QUERY TASK, QUERY TASK SET, QUERY ASYNCHRONOUS EVENT and I_T NEXUS RESET (RFC 7144).
    pub fn set_query_functions(&self, nexus: NexusId, carried: bool) {
        if let Some(nexus) = self.nexuses.borrow().get(nexus) {
            nexus.query_functions.set(carried);
        }
    }

    /// QUERY ASYNCHRONOUS EVENT: sense key, additional sense code and qualifier of the unit attention that the nexus's next command on the
    /// logical unit will meet, which stays; `None` when none waits.
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

    /// I_T NEXUS RESET: the nexus is as after its loss, though the session goes on: RESERVE, prevention of removal and copy results are
    /// gone, and each logical unit tells it so (SAM-5 §6.3.4). The transport has ended its tasks.
    pub fn nexus_reset(&self, nexus: NexusId) {
        let Some(nexus) = self.nexuses.borrow().get(nexus) else { return };
        for unit in self.units.borrow().values() {
            unit.forget(nexus.id);
        }
        nexus.copies.clear();
        for path in nexus.view() {
            path.raise(AdditionalSense::I_T_NEXUS_LOSS_OCCURRED);
        }
    }

    fn reset_volume(&self, volume: VolumeId) {
        if let Some(unit) = self.units.borrow().get(&volume) {
            unit.reset();
        }
        self.raise_where(volume, AdditionalSense::BUS_DEVICE_RESET_FUNCTION_OCCURRED, |_| true);
    }
}
