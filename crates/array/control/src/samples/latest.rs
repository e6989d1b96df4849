//! The newest sample, with chosen volumes and shares.

use super::ring::{IoSample, Recent, Sample, Samples, per_second};
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
    /// Largest number of busiest volumes and shares of the last minute.
    pub busiest: usize,
}

/// A sample, and volumes and shares as of its end.
#[derive(Clone, Debug)]
pub struct SampleView {
    /// The sample.
    pub sample: Arc<Sample>,
    /// Wanted volumes and shares.
    pub units: Vec<UnitView>,
    /// Busiest volumes and shares of the last minute, those with the most reads and writes first.
    pub busiest: Vec<BusyView>,
}

/// Volume or share that was read or written in the last minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusyView {
    /// True for a share, false for a volume.
    pub is_share: bool,
    /// Id.
    pub id: Uuid,
    /// Name.
    pub name: String,
    /// Mean of reads and writes a second, rounded.
    pub operations: u64,
    /// Mean of bytes read and written a second, rounded.
    pub bytes: u64,
    /// Largest latency in microseconds that 99 % of the reads and writes of a second did not exceed.
    pub p99_us: u64,
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
        let Some(samples) = facts.samples() else { return Ok(None) };
        let Some(sample) = samples.latest() else { return Ok(None) };
        let directory = facts.directory();
        let view = |id: &Uuid| {
            let volume = directory.volume_by_id(*id).map(|volume| volume.object);
            let object = volume.or_else(|| directory.share_by_id(*id).map(|share| share.object))?;
            let mapped_bytes = facts.object(object)?.mapped_bytes;
            Some(UnitView { id: *id, io: sample.unit(object)?, mapped_bytes })
        };
        let units = self.units.iter().filter_map(view).collect();
        let busiest = busiest(samples, facts, self.busiest);
        Ok(Some(SampleView { sample: Arc::clone(sample), units, busiest }))
    }
}

/// At most `most` of the busiest volumes and shares, without those that were deleted since.
fn busiest(samples: &Samples, facts: &dyn Facts, most: usize) -> Vec<BusyView> {
    if most == 0 {
        return Vec::new();
    }
    let (objects, ms) = samples.busiest();
    let directory = facts.directory();
    let view = |(object, recent): (_, Recent)| {
        let volume = directory.volume_of(object).map(|volume| (false, volume.id, &volume.name));
        let (is_share, id, name) =
            volume.or_else(|| directory.share_of(object).map(|share| (true, share.id, &share.name)))?;
        let rate = |number| per_second(number, ms);
        let (operations, bytes) = (rate(recent.operations), rate(recent.bytes));
        Some(BusyView { is_share, id, name: name.clone(), operations, bytes, p99_us: recent.p99_us })
    };
    objects.into_iter().filter_map(view).take(most).collect()
}
