//! Ranges of volumes that lie in bad blocks.

use super::BadRange;
use crate::directory::Directory;
use crate::snapshots::record::SnapshotRecord;
use pool::{ObjectId, Place};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of snapshots listed for one range.
const MAX_SNAPSHOTS: usize = 8;
/// Size of a block of the pool in bytes.
const BLOCK_BYTES: u64 = 4096;
/// Size of a block of a volume in bytes.
const LBA_BYTES: u64 = 512;

/// Converts places to ranges by volume and LBA, with the snapshots that share them; adjacent places
/// are merged.
pub(crate) fn bad_ranges(directory: &Directory, places: &[Place]) -> Vec<BadRange> {
    let snapshots: BTreeMap<ObjectId, &SnapshotRecord> =
        directory.snapshots().map(|snapshot| (snapshot.object, snapshot)).collect();
    let mut found: BTreeMap<(String, u64), (bool, BTreeSet<String>)> = BTreeMap::new();
    for place in places {
        let snapshot = snapshots.get(&place.object);
        let volume = match snapshot {
            Some(snapshot) => directory.content_name(snapshot.volume),
            None => directory.name_of(place.object),
        };
        let volume = volume.map_or_else(|| format!("object {}", place.object.0), str::to_owned);
        let (in_volume, snapshots) = found.entry((volume, place.offset_bytes)).or_default();
        match snapshot {
            Some(snapshot) => {
                snapshots.insert(snapshot.name.clone());
            }
            None => *in_volume = true,
        }
    }
    let mut ranges: Vec<BadRange> = Vec::new();
    for ((volume, offset_bytes), (in_volume, snapshots)) in found {
        let (lba, blocks) = (offset_bytes / LBA_BYTES, BLOCK_BYTES / LBA_BYTES);
        let snapshots: Vec<String> = snapshots.into_iter().take(MAX_SNAPSHOTS).collect();
        match ranges.last_mut() {
            Some(last)
                if last.volume == volume
                    && last.in_volume == in_volume
                    && last.snapshots == snapshots
                    && last.lba.saturating_add(last.blocks) == lba =>
            {
                last.blocks = last.blocks.saturating_add(blocks);
            }
            _ => ranges.push(BadRange { volume, in_volume, snapshots, lba, blocks }),
        }
    }
    ranges
}
