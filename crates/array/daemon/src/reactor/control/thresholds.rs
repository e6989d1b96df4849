//! The soft thresholds that an administrator has set, as the SCSI target shows them to hosts.

use super::super::Reactor;
use block::VolumeId;
use control::Control;
use pool::ObjectId;
use scsi_target::{SoftThreshold, ThresholdSource};
use std::rc::{Rc, Weak};

/// It does not keep `control` alive: at shutdown there are no thresholds any more.
struct Source(Weak<Control>);

/// Lets the target show thresholds.
pub(crate) fn load(reactor: &Reactor, control: &Rc<Control>) {
    reactor.target.set_threshold_source(Rc::new(Source(Rc::downgrade(control))));
}

impl ThresholdSource for Source {
    fn soft_thresholds(&self, volume: VolumeId) -> Vec<SoftThreshold> {
        let Some(control) = self.0.upgrade() else { return Vec::new() };
        let thresholds = control.soft_thresholds(ObjectId(volume.0));
        let available = thresholds.available_bytes.into_iter().map(|bytes| SoftThreshold::Available { bytes });
        let used = thresholds.used_bytes.into_iter().map(|bytes| SoftThreshold::Used { bytes });
        available.chain(used).collect()
    }
}
