//! The newest sample, with chosen volumes and shares.

use super::ring::{IoSample, Sample};
use crate::error::ControlError;
use crate::facts::Facts;
use crate::read::Read;
use std::sync::Arc;
use uuid::Uuid;

/// Reads the newest sample; the reply is `None` before the first one.
#[derive(Clone, Debug, Default)]
pub struct SampleLatest {
    /// Volumes and shares; those that do not exist, and those of which the sample does not know the
    /// reads and writes, are left out.
    pub units: Vec<Uuid>,
}

/// A sample, and volumes and shares as of its end.
#[derive(Clone, Debug)]
pub struct SampleView {
    /// The sample.
    pub sample: Arc<Sample>,
    /// Wanted volumes and shares.
    pub units: Vec<UnitView>,
}

/// Volume or share in a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitView {
    /// Id.
    pub id: Uuid,
    /// Reads and writes.
    pub io: IoSample,
    /// Bytes with stored content.
    pub mapped_bytes: u64,
}

impl Read for SampleLatest {
    type Reply = Option<SampleView>;
    const NAME: &'static str = "sample-latest";

    fn answer(&self, facts: &dyn Facts) -> Result<Self::Reply, ControlError> {
        let Some(sample) = facts.samples().and_then(|samples| samples.latest()) else { return Ok(None) };
        let directory = facts.directory();
        let view = |id: &Uuid| {
            let volume = directory.volume_by_id(*id).map(|volume| volume.object);
            let object = volume.or_else(|| directory.share_by_id(*id).map(|share| share.object))?;
            let mapped_bytes = facts.object(object)?.mapped_bytes;
            Some(UnitView { id: *id, io: sample.unit(object)?, mapped_bytes })
        };
        let units = self.units.iter().filter_map(view).collect();
        Ok(Some(SampleView { sample: Arc::clone(sample), units }))
    }
}
