//! `volume space`: space of a volume, and the results of hosts' UNMAP commands.

use crate::condition::Noun;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::read::Read;
use pool::{ObjectId, ObjectInfo};
use serde::{Deserialize, Serialize};
use unit::Primitive;
use unit::Reason;

/// Shows the space of a volume and the results of hosts' UNMAP commands.
#[derive(Clone, Debug)]
pub struct VolumeSpace {
    /// Name or id.
    pub volume: String,
}

/// Space of a volume: `mapped = unique + shared`.
#[derive(Clone, Debug)]
pub struct SpaceView {
    /// Name of the volume.
    pub volume: String,
    /// Object of the volume.
    pub object: ObjectInfo,
    /// Bytes that deleting it would free.
    pub unique_bytes: Option<u64>,
    /// Bytes that deleting all its snapshots together would free.
    pub snapshot_bytes: Option<u64>,
    /// Unmapped bytes since the array started.
    pub unmapped: UnmapReport,
}

/// Counters of unmapped bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnmapReport {
    /// Successful UNMAP commands.
    pub commands: u64,
    /// Bytes that they addressed.
    pub requested_bytes: u64,
    /// Deallocated bytes; free now, unless a snapshot keeps them.
    pub deallocated_bytes: u64,
    /// Bytes at the edges of unmapped ranges; they read as zeros and stay allocated.
    pub unaligned_bytes: u64,
    /// Commands whose whole range was below the allocation unit.
    pub below_grain_commands: u64,
    /// Bytes that each snapshot alone keeps, the largest first.
    pub kept: Vec<KeptBy>,
}

/// Bytes that a snapshot alone keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptBy {
    /// `volume@name`.
    pub snapshot: String,
    /// Bytes that deleting it would free; absent during the count.
    pub unique_bytes: Option<u64>,
}

impl Read for VolumeSpace {
    type Reply = SpaceView;
    const NAME: &'static str = "volume-space";
    const FRESH_COUNTS: bool = true;

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        let Ok(volume) = facts.directory().volume(&self.volume) else { return Vec::new() };
        let snapshots = facts.directory().snapshots_of(volume.id).map(|snapshot| vec![snapshot.object]);
        facts.counted_of(volume.object, volume.id).chain(snapshots).collect()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<SpaceView, ControlError> {
        let directory = facts.directory();
        let record = directory.volume(&self.volume)?;
        let gone = || ControlError::NotFound { noun: Noun::Volume, name: self.volume.clone() };
        let object = facts.object(record.object).ok_or_else(gone)?;
        let (unique_bytes, snapshot_bytes) = (facts.unique_bytes(&[record.object]), facts.snapshot_bytes(record.id));
        let kept = directory.snapshots_of(record.id).map(|snapshot| KeptBy {
            snapshot: directory.full_name(snapshot),
            unique_bytes: facts.unique_bytes(&[snapshot.object]),
        });
        let mut kept: Vec<KeptBy> = kept.collect();
        kept.sort_by_key(|kept| std::cmp::Reverse(kept.unique_bytes));
        let mut unmapped = UnmapReport { kept, ..UnmapReport::default() };
        let rows = facts.unit(record.object).offload;
        for row in rows.iter().filter(|row| row.primitive == Primitive::Unmap) {
            let counters = &row.counters;
            let below = counters.ineffective.of(Reason::BelowGrain);
            unmapped.commands = unmapped.commands.saturating_add(counters.ok);
            unmapped.requested_bytes = unmapped.requested_bytes.saturating_add(counters.bytes);
            unmapped.deallocated_bytes = unmapped.deallocated_bytes.saturating_add(counters.deallocated_bytes);
            unmapped.unaligned_bytes = unmapped.unaligned_bytes.saturating_add(counters.unaligned_bytes);
            unmapped.below_grain_commands = unmapped.below_grain_commands.saturating_add(below);
        }
        let volume = record.name.clone();
        Ok(SpaceView { volume, object, unique_bytes, snapshot_bytes, unmapped })
    }
}
