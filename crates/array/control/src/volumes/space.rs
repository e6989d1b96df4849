//! `volume space`: space of a volume, and the results of hosts' UNMAP commands.

use crate::{Control, ControlError, Noun, Primitive, Request, SnapshotRecord};
use pool::ObjectInfo;
use serde::{Deserialize, Serialize};

/// Reason of an UNMAP below the allocation unit, as the target names it.
const BELOW_GRAIN: &str = "below-grain";

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

impl Request for VolumeSpace {
    type Reply = SpaceView;
    const NAME: &'static str = "volume-space";

    async fn run(&self, control: &Control) -> Result<SpaceView, ControlError> {
        let record = control.directory().volume(&self.volume)?.clone();
        let mut patience = control.patience();
        let gone = || ControlError::NotFound { noun: Noun::Volume, name: self.volume.clone() };
        let (object, unique_bytes) = control.space_of(record.object, &mut patience).await.ok_or_else(gone)?;
        let snapshot_bytes = control.snapshot_bytes(record.id, &mut patience).await;
        let snapshots: Vec<(String, SnapshotRecord)> = {
            let directory = control.directory();
            let own = directory.snapshots.values().filter(|snapshot| snapshot.volume == record.id);
            own.map(|snapshot| (directory.full_name(snapshot), snapshot.clone())).collect()
        };
        let mut kept = Vec::with_capacity(snapshots.len());
        for (snapshot, record) in snapshots {
            if let Some((_, unique_bytes)) = control.space_of(record.object, &mut patience).await {
                kept.push(KeptBy { snapshot, unique_bytes });
            }
        }
        kept.sort_by_key(|kept| std::cmp::Reverse(kept.unique_bytes));
        let mut unmapped = UnmapReport { kept, ..UnmapReport::default() };
        let rows = control.live.offload_statistics();
        let own = rows.iter().filter(|row| row.volume == record.object && row.primitive == Primitive::Unmap);
        for row in own {
            unmapped.commands = unmapped.commands.saturating_add(row.ok);
            unmapped.requested_bytes = unmapped.requested_bytes.saturating_add(row.bytes);
            unmapped.deallocated_bytes = unmapped.deallocated_bytes.saturating_add(row.deallocated_bytes);
            unmapped.unaligned_bytes = unmapped.unaligned_bytes.saturating_add(row.unaligned_bytes);
            let below = row.ineffective.iter().filter(|reason| reason.reason_code == BELOW_GRAIN);
            let below: u64 = below.map(|reason| reason.count).fold(0, u64::saturating_add);
            unmapped.below_grain_commands = unmapped.below_grain_commands.saturating_add(below);
        }
        let volume = record.name;
        Ok(SpaceView { volume, object, unique_bytes, snapshot_bytes, unmapped })
    }
}
