//! Limits of hosts and volumes for the steps of offloaded work.

use super::super::admission::Admissions;
use super::registry::Registry;
use block::VolumeId;
use futures_util::future::LocalBoxFuture;
use scsi_target::{NexusId, OffloadCost};
use std::rc::Rc;
use unit::AbortFlag;

/// Limits of the array, for the host of each nexus. A nexus that has ended has none: what is left of its work in the
/// background is done without.
pub(super) struct OffloadLimits {
    pub admissions: Rc<Admissions>,
    pub registry: Rc<Registry>,
}

impl scsi_target::OffloadLimits for OffloadLimits {
    fn charge(&self, nexus: NexusId, volume: VolumeId, cost: OffloadCost) {
        if self.admissions.is_idle() {
            return;
        }
        if let Some(host) = self.registry.host_of(nexus) {
            self.admissions.charge(host, volume, cost.operations, cost.bytes);
        }
    }

    fn next_step(&self, nexus: NexusId, volume: VolumeId, abort: &AbortFlag) -> Option<LocalBoxFuture<'static, ()>> {
        if self.admissions.is_idle() {
            return None;
        }
        let wait = self.admissions.next_step(self.registry.host_of(nexus)?, volume)?;
        let abort = abort.clone();
        Some(Box::pin(async move { wait.or_abort(&abort).await }))
    }
}
