//! Known damage: blocks that fail their checksum, and unreadable metadata.
//!
//! A bad block is reported once, regardless of whether a host's read or a scrub finds it. A
//! finished scrub knows the present bad blocks, so the alert follows its result: a block that was
//! overwritten since is no longer bad.

use crate::events::Severity;
use crate::events::view::AlertView;
use crate::pools::record::{CheckRecord, ScrubRecord};
use jiff::Timestamp;
use pool::{BlockId, Place};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of ranges in a result, which must fit in a document of 64 KiB.
pub const MAX_BAD_RANGES: usize = 64;
/// Largest number of bad blocks and sentences recorded as reported.
const MAX_KNOWN: usize = 4096;
/// Advice for lost content.
const OVERWRITE: &str = "the events name the ranges; overwrite or restore them, then scrub the pool";
/// Advice for lost metadata.
const DISCARD: &str = "unmap or zero the range, or delete the volume, then scrub the pool; or stop the array, check the pool, and repair it; see docs/durability.md";
/// Text that marks a sentence about reference counts.
pub(super) const COUNTS: &str = "reference counts";
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

    /// Takes bad blocks. Returns those that were not known.
    pub(super) fn found(&self, places: Vec<Place>, now: impl FnOnce() -> Timestamp) -> Vec<Place> {
        let mut known = self.blocks.borrow_mut();
        let new: Vec<Place> =
            places.into_iter().filter(|place| known.len() < MAX_KNOWN && known.insert(place.block)).collect();
        drop(known);
        if !new.is_empty() && self.since.get().is_none() {
            self.since.set(Some(now()));
        }
        new
    }

    /// Takes a sentence of the pool about unreadable metadata, and the sentence with names. Returns
    /// the latter, and whether it was not known.
    pub(super) fn told(&self, sentence: &str, told: String, now: impl FnOnce() -> Timestamp) -> (String, bool) {
        let mut known = self.damaged.borrow_mut();
        if let Some(told) = known.get(sentence) {
            return (told.clone(), false);
        }
        if known.len() >= MAX_KNOWN || known.values().any(|known| *known == told) {
            return (told, false);
        }
        known.insert(sentence.to_owned(), told.clone());
        if self.since.get().is_none() {
            self.since.set(Some(now()));
        }
        (told, true)
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
            note: None,
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
