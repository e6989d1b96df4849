//! `volume space`: space of a volume or share, and the results of hosts' UNMAP and DEALLOCATE commands.

use crate::condition::Noun;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::read::Read;
use pool::{ObjectId, ObjectInfo};
use serde::{Deserialize, Serialize};
use unit::Primitive;
use unit::Reason;
use uuid::Uuid;

/// Shows the space of a volume and the results of hosts' UNMAP commands.
#[derive(Clone, Debug)]
pub struct VolumeSpace {
    /// Name or id.
    pub volume: String,
}

/// Space of a volume or share: `mapped = unique + shared`.
#[derive(Clone, Debug)]
pub struct SpaceView {
    /// Name of the volume or share.
    pub volume: String,
    /// Its object.
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
    /// Successful UNMAP or DEALLOCATE commands.
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
        let record = facts.directory().volume(&self.volume)?;
        let gone = || ControlError::NotFound { noun: Noun::Volume, name: self.volume.clone() };
        facts.space_view(&record.name, record.object, record.id, Primitive::Unmap).ok_or_else(gone)
    }
}

impl dyn Facts + '_ {
    /// Space of a volume or share, of which `free` deallocates; absent if it was deleted meanwhile.
    pub(crate) fn space_view(&self, name: &str, id: ObjectId, of: Uuid, free: Primitive) -> Option<SpaceView> {
        let (object, directory) = (self.object(id)?, self.directory());
        let (unique_bytes, snapshot_bytes) = (self.unique_bytes(&[id]), self.snapshot_bytes(of));
        let kept = directory.snapshots_of(of).map(|snapshot| KeptBy {
            snapshot: directory.full_name(snapshot),
            unique_bytes: self.unique_bytes(&[snapshot.object]),
        });
        let mut kept: Vec<KeptBy> = kept.collect();
        kept.sort_by_key(|kept| std::cmp::Reverse(kept.unique_bytes));
        let mut unmapped = UnmapReport { kept, ..UnmapReport::default() };
        let rows = self.unit(id).offload;
        for row in rows.iter().filter(|row| row.primitive == free) {
            let counters = &row.counters;
            let below = counters.ineffective.of(Reason::BelowGrain);
            unmapped.commands = unmapped.commands.saturating_add(counters.ok);
            unmapped.requested_bytes = unmapped.requested_bytes.saturating_add(counters.bytes);
            unmapped.deallocated_bytes = unmapped.deallocated_bytes.saturating_add(counters.deallocated_bytes);
            unmapped.unaligned_bytes = unmapped.unaligned_bytes.saturating_add(counters.unaligned_bytes);
            unmapped.below_grain_commands = unmapped.below_grain_commands.saturating_add(below);
        }
        Some(SpaceView { volume: name.to_owned(), object, unique_bytes, snapshot_bytes, unmapped })
    }
}
