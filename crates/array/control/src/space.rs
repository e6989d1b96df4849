//! Where the space of a volume is, and where what hosts unmapped went.

use crate::{Control, ControlError, KeptBy, Noun, Primitive, Reply, SnapshotRecord, SpaceView, UnmapReport};

/// Reason of an UNMAP that was below the unit of allocation, as the target names it.
const BELOW_GRAIN: &str = "below-grain";

impl Control {
    pub(crate) async fn volume_space(&self, name: &str) -> Result<Reply, ControlError> {
        let record = self.directory().volume(name)?.clone();
        let mut patience = self.patience();
        let gone = || ControlError::NotFound { noun: Noun::Volume, name: name.to_owned() };
        let (object, unique_bytes) = self.space_of(record.object, &mut patience).await.ok_or_else(gone)?;
        let snapshot_bytes = self.snapshot_bytes(record.id, &mut patience).await;
        let snapshots: Vec<(String, SnapshotRecord)> = {
            let directory = self.directory();
            let own = directory.snapshots.values().filter(|snapshot| snapshot.volume == record.id);
            own.map(|snapshot| (directory.full_name(snapshot), snapshot.clone())).collect()
        };
        let mut kept = Vec::with_capacity(snapshots.len());
        for (snapshot, record) in snapshots {
            if let Some((_, unique_bytes)) = self.space_of(record.object, &mut patience).await {
                kept.push(KeptBy { snapshot, unique_bytes });
            }
        }
        kept.sort_by_key(|kept| std::cmp::Reverse(kept.unique_bytes));
        let mut unmapped = UnmapReport { kept, ..UnmapReport::default() };
        let rows = self.live.offload_statistics();
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
        Ok(Reply::Space(Box::new(SpaceView { volume, object, unique_bytes, snapshot_bytes, unmapped })))
    }
}
