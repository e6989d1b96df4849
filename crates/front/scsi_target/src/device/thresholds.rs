//! Soft thresholds (SBC-3 §4.7.3.7): the logical block provisioning mode page, and the unit attentions.
//!
//! The administrator sets the thresholds for the pool and for volumes, in percent. Here they are
//! counts of threshold sets, in the unit and about the resources of the logical block provisioning
//! log page. A host can only change whether a threshold is reported to one I_T nexus or to all.

use super::ScsiTarget;
use crate::blocks::BLOCK;
use block::{BlockDevice, VolumeId};
use scsi::AdditionalSense;
use scsi::inquiry::THRESHOLD_EXPONENT;
use scsi::mode::{ThresholdDescriptor, ThresholdKind};
use std::cell::Cell;
use unit::SoftThreshold;

impl<D: BlockDevice> ScsiTarget<D> {
    /// Descriptors of the logical block provisioning mode page.
    pub(crate) fn threshold_descriptors(&self, volume: VolumeId) -> Vec<ThresholdDescriptor> {
        self.units.store().soft_thresholds(volume).into_iter().map(descriptor).collect()
    }

    /// Raises a unit attention because a soft threshold of the volume, or of the pool below all
    /// volumes (`None`), was reached: once on every nexus that sees the volume (SBC-3 §4.7.3.8),
    /// with SITUA on only one of them.
    pub fn soft_threshold_reached(&self, volume: Option<VolumeId>) {
        let units: Vec<_> = self.logical_units.borrow().values().cloned().collect();
        for unit in units.iter().filter(|unit| volume.is_none_or(|volume| unit.volume() == volume)) {
            let single = unit.single_initiator_threshold();
            let reported = Cell::new(false);
            let sees = |nexus| {
                self.nexuses
                    .borrow()
                    .get(nexus)
                    .is_some_and(|nexus| nexus.find(|other| other.volume() == unit.volume()).is_some())
            };
            self.raise_where(unit.volume(), AdditionalSense::THIN_PROVISIONING_SOFT_THRESHOLD_REACHED, |nexus| {
                !single || (!reported.get() && sees(nexus) && !reported.replace(true))
            });
        }
    }
}

/// Rounds like the log page, so that the page shows the threshold as reached when it is.
fn descriptor(threshold: SoftThreshold) -> ThresholdDescriptor {
    let set_bytes = BLOCK << THRESHOLD_EXPONENT;
    let sets = |sets: u64| u32::try_from(sets).unwrap_or(u32::MAX);
    match threshold {
        SoftThreshold::Available { bytes } => {
            ThresholdDescriptor::new(ThresholdKind::AvailableDecreasing, sets(bytes / set_bytes))
        }
        SoftThreshold::Used { bytes } => {
            ThresholdDescriptor::new(ThresholdKind::UsedIncreasing, sets(bytes.div_ceil(set_bytes)))
        }
    }
}
