//! Sanitize operations of logical units (SBC-4 §4.11): [`unit::Sanitize`], and the ROD tokens that must not outlive one.

use crate::logical_unit::LogicalUnit;
use crate::sense::Fault;
use crate::device::ScsiTarget;
use block::{BlockDevice, VolumeId};
use unit::{Begun, PersistedSanitize};

impl<D: BlockDevice> ScsiTarget<D> {
    /// Puts back what a [`unit::UnitStore`] has kept, before the logical unit's first command. An operation that was in progress begins
    /// anew: it has to be run. False when there is no such logical unit.
    #[must_use]
    pub fn restore_sanitize(&self, volume: VolumeId, operation: PersistedSanitize) -> bool {
        let Some(unit) = self.unit(volume) else { return false };
        unit.sanitize.restore(operation);
        true
    }

    /// Begins an operation and cancels the tokens of the logical unit's content.
    pub(crate) async fn begin_sanitize(
        &self,
        unit: &LogicalUnit<D>,
        operation: PersistedSanitize,
    ) -> Result<Begun, Fault> {
        let begun = unit.begin_sanitize(&*self.store, operation).await?;
        self.tokens.cancel_of(unit.volume());
        Ok(begun)
    }

    /// Progress of the operation on a logical unit: bytes of it that are done, and all of them. `None` without an operation.
    #[must_use]
    pub fn sanitize_progress(&self, volume: VolumeId) -> Option<(u64, u64)> {
        self.unit(volume)?.sanitize_progress()
    }

    /// Runs one step of the operation on a logical unit and returns the bytes of content that it worked on; `None` without an operation, or
    /// at its end.
    pub async fn sanitize_step(&self, volume: VolumeId) -> Option<u64> {
        let unit = self.unit(volume)?;
        unit.sanitize_progress()?;
        let worked = unit.sanitize_step(&*self.store).await;
        if worked.is_none() {
            // A token that was being made when the operation began.
            self.tokens.cancel_of(volume);
        }
        worked
    }
}
