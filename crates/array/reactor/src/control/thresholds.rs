//! Soft thresholds that an administrator has set, as units show them to hosts.

use block::VolumeId;
use control::Control;
use pool::ObjectId;
use unit::SoftThreshold;

/// Thresholds of a volume: its own and those of the pool.
pub(crate) fn of(control: &Control, volume: VolumeId) -> Vec<SoftThreshold> {
    let thresholds = control.soft_thresholds(ObjectId(volume.0));
    let available = thresholds.available_bytes.into_iter().map(|bytes| SoftThreshold::Available { bytes });
    let used = thresholds.used_bytes.into_iter().map(|bytes| SoftThreshold::Used { bytes });
    available.chain(used).collect()
}
