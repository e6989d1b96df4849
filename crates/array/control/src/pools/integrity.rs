//! Lost content: blocks that fail their checksum, with their volumes, LBAs and snapshots.
//!
//! A bad block is reported once, regardless of whether a host's read or a scrub finds it. A
//! finished scrub knows the present bad blocks, so the alert follows its result: a block that was
//! overwritten since is no longer bad.

use crate::events::{Draft, Severity};
use crate::{
    AlertView, BadRange, CheckRecord, Control, Directory, ObjectNames, ScrubRecord, SnapshotRecord, VolumeRecord,
};
use jiff::Timestamp;
use pool::{BlockId, Incident, ObjectId, Place};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of ranges in a result, which must fit in a document of 64 KiB.
pub const MAX_BAD_RANGES: usize = 64;
/// Largest number of snapshots listed for one range.
const MAX_SNAPSHOTS: usize = 8;
/// Largest number of bad blocks and sentences recorded as reported.
const MAX_KNOWN: usize = 4096;
/// Largest number of ranges reported at once with separate events.
const MAX_EVENTS: usize = 16;
/// Advice for lost content.
const OVERWRITE: &str = "the events name the ranges; overwrite or restore them, then scrub the pool";
/// Advice for lost metadata.
const DISCARD: &str = "unmap or zero the range, or delete the volume, then scrub the pool; or stop the array, check the pool, and repair it; see docs/durability.md";
/// Text that marks a sentence about reference counts.
const COUNTS: &str = "reference counts";
/// Size of a block of the pool in bytes.
const BLOCK_BYTES: u64 = 4096;
/// Size of a block of a volume in bytes.
const LBA_BYTES: u64 = 512;

/// Known damage.
#[derive(Default)]
pub(crate) struct Integrity {
    blocks: RefCell<BTreeSet<BlockId>>,
    /// Unreadable metadata: the pool's sentence, and the sentence with names.
    damaged: RefCell<BTreeMap<String, String>>,
    /// Number of blocks that the last scrub found.
    scrubbed: Cell<u64>,
    since: Cell<Option<Timestamp>>,
}

impl Integrity {
    /// Takes the result of a finished scrub.
    pub fn scrubbed(&self, scrub: &ScrubRecord) {
        if scrub.bad_blocks == 0 {
            self.blocks.borrow_mut().clear();
        }
        // A scrub reads every map page but no reference count.
        let mut damaged = self.damaged.borrow_mut();
        damaged.retain(|_, told| told.contains(COUNTS) || scrub.damaged.contains(told));
        for told in &scrub.damaged {
            if damaged.values().all(|known| known != told) {
                damaged.insert(told.clone(), told.clone());
            }
        }
        drop(damaged);
        self.scrubbed.set(scrub.bad_blocks);
        self.set_since(scrub.finished);
    }

    /// Takes the result of a finished check.
    pub fn checked(&self, check: &CheckRecord) {
        if check.count == 0 {
            self.damaged.borrow_mut().clear();
        }
        self.set_since(check.finished);
    }

    /// Updates the start of the damage: unchanged if there was damage, `now` if it is new, `None`
    /// if there is none.
    fn set_since(&self, now: Timestamp) {
        self.since.set(self.is_damaged().then(|| self.since.get().unwrap_or(now)));
    }

    /// True if content or metadata is known to be lost.
    pub fn is_damaged(&self) -> bool {
        self.bad_blocks() > 0 || !self.damaged.borrow().is_empty()
    }

    fn bad_blocks(&self) -> u64 {
        u64::try_from(self.blocks.borrow().len()).unwrap_or(u64::MAX).max(self.scrubbed.get())
    }

    /// Active alerts.
    pub fn alerts(&self, pool: &str) -> Vec<AlertView> {
        let alert = |code, message, help| AlertView {
            code,
            severity: Severity::Critical,
            subject: pool.to_owned(),
            since: self.since.get().unwrap_or(Timestamp::UNIX_EPOCH),
            message,
            help,
        };
        let blocks = match self.bad_blocks() {
            0 => None,
            1 => Some("1 block of 4 KiB cannot be read".to_owned()),
            blocks => Some(format!("{blocks} blocks of 4 KiB cannot be read")),
        };
        let damaged = self.damaged.borrow();
        let metadata = damaged.values().next().map(|first| match damaged.len() {
            1 => first.clone(),
            count => format!("{first}; and {} more", count - 1),
        });
        let blocks = blocks.map(|message| alert("bad-blocks", message, OVERWRITE));
        let metadata = metadata.map(|message| alert("metadata-damaged", message, DISCARD));
        blocks.into_iter().chain(metadata).collect()
    }
}

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
        let new: Vec<Place> = {
            let mut known = self.pool().integrity.blocks.borrow_mut();
            places.into_iter().filter(|place| known.len() < MAX_KNOWN && known.insert(place.block)).collect()
        };
        if new.is_empty() {
            return;
        }
        if self.pool().integrity.since.get().is_none() {
            self.pool().integrity.since.set(Some(self.environment().now()));
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
        {
            let mut known = self.pool().integrity.damaged.borrow_mut();
            if let Some(told) = known.get(sentence) {
                return told.clone();
            }
            if known.len() >= MAX_KNOWN || known.values().any(|known| *known == told) {
                return told;
            }
            known.insert(sentence.to_owned(), told.clone());
        }
        if self.pool().integrity.since.get().is_none() {
            self.pool().integrity.since.set(Some(self.environment().now()));
        }
        self.raise(Draft::new(Severity::Critical, "metadata-damaged", self.pool().name().to_owned(), told.clone()));
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
