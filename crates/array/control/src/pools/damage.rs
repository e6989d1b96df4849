//! Reports of lost content, with its volumes, LBAs and snapshots.

use super::integrity::COUNTS;
use crate::events::{Draft, Severity};
use crate::{AlertView, BadRange, Control, Directory, ObjectNames, SnapshotRecord, VolumeRecord};
use pool::{Incident, ObjectId, Place};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of snapshots listed for one range.
const MAX_SNAPSHOTS: usize = 8;
/// Largest number of ranges reported at once with separate events.
const MAX_EVENTS: usize = 16;
/// Size of a block of the pool in bytes.
const BLOCK_BYTES: u64 = 4096;
/// Size of a block of a volume in bytes.
const LBA_BYTES: u64 = 512;

impl Control {
    /// Active alerts about lost content and metadata.
    pub(crate) fn damage_alerts(&self) -> Vec<AlertView> {
        self.pool().integrity.alerts(self.pool().name())
    }

    /// Reports incidents that the pool has noticed since the last call.
    pub(crate) async fn take_incidents(&self) {
        let mut places = Vec::new();
        for incident in self.catalog().take_incidents() {
            match incident {
                Incident::BadBlock(place) => places.push(place),
                Incident::Metadata(sentence) => {
                    self.report_damage(&sentence, None);
                }
            }
        }
        if !places.is_empty() {
            self.report_bad(places).await;
        }
    }

    /// Raises an event for each range of bad blocks that has not been reported.
    pub(crate) async fn report_bad(&self, places: Vec<Place>) {
        let new = self.pool().integrity.found(places, || self.environment().now());
        if new.is_empty() {
            return;
        }
        let blocks = new.iter().map(|place| place.block).collect();
        // If the maps cannot be traversed, the place of detection is reported.
        let places = self.catalog().places_of(blocks).await.ok().filter(|places| !places.is_empty()).unwrap_or(new);
        let ranges = bad_ranges(&self.directory(), &places);
        for range in ranges.iter().take(MAX_EVENTS) {
            self.raise(Draft::new(Severity::Critical, "bad-block", range.volume.clone(), sentence(range)));
        }
        if ranges.len() > MAX_EVENTS {
            let more = format!("{} more stretches cannot be read; a scrub lists them", ranges.len() - MAX_EVENTS);
            self.raise(Draft::new(Severity::Critical, "bad-block", self.pool().name().to_owned(), more));
        }
    }

    /// Raises an event for unreadable metadata, once per sentence, and returns the sentence with
    /// names. `object`: object that was being processed.
    pub(crate) fn report_damage(&self, sentence: &str, object: Option<ObjectId>) -> String {
        let names = ObjectNames::of(&self.directory());
        let explained = names.explain(sentence);
        let told = match object.and_then(|object| names.name(object)) {
            Some(name) if explained == sentence && !sentence.contains(COUNTS) => format!("{name}: {sentence}"),
            _ => explained,
        };
        let (told, is_new) = self.pool().integrity.told(sentence, told, || self.environment().now());
        if is_new {
            self.raise(Draft::new(Severity::Critical, "metadata-damaged", self.pool().name().to_owned(), told.clone()));
        }
        told
    }
}

/// `LBA 8 to 15 of v1 cannot be read, nor in its snapshots monday and tuesday`.
fn sentence(range: &BadRange) -> String {
    let last = range.lba.saturating_add(range.blocks.saturating_sub(1));
    let snapshots = range.snapshots.join(", ");
    let plural = if range.snapshots.len() == 1 { "" } else { "s" };
    let place = match (range.in_volume, range.snapshots.is_empty()) {
        (true, true) => "cannot be read".to_owned(),
        (true, false) => format!("cannot be read, nor in snapshot{plural} {snapshots}"),
        (false, _) => format!("cannot be read in snapshot{plural} {snapshots}"),
    };
    format!("LBA {} to {last} of {} {place}", range.lba, range.volume)
}

/// Converts places to ranges by volume and LBA, with the snapshots that share them; adjacent places
/// are merged.
pub(crate) fn bad_ranges(directory: &Directory, places: &[Place]) -> Vec<BadRange> {
    let snapshots: BTreeMap<ObjectId, &SnapshotRecord> =
        directory.snapshots().map(|snapshot| (snapshot.object, snapshot)).collect();
    let volumes: BTreeMap<ObjectId, &VolumeRecord> =
        directory.volumes().map(|volume| (volume.object, volume)).collect();
    let mut found: BTreeMap<(String, u64), (bool, BTreeSet<String>)> = BTreeMap::new();
    for place in places {
        let snapshot = snapshots.get(&place.object);
        let volume = match snapshot {
            Some(snapshot) => directory.volume_by_id(snapshot.volume),
            None => volumes.get(&place.object).copied(),
        };
        let volume = volume.map_or_else(|| format!("object {}", place.object.0), |volume| volume.name.clone());
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
