//! Pins of a waiting transaction: all that its last attempt saw, and what it waits for.

use crate::core::Core;
use crate::core::progress::InTransaction;
use crate::map::Map;
use crate::mutations::{Mutation, leaves_out};
use crate::transaction::changes::RangeChange;
use crate::transaction::view::ranges::MOST_READ_BYTES;
use media::{BLOCK_BYTES, BlockAddress, Media};

/// Largest number of pages and blocks that a transaction pins: those of 96 looks, and the blocks that it reads.
const MOST_PINS: usize = 96 + (MOST_READ_BYTES as usize).div_ceil(BLOCK_BYTES) + 1;

impl<M: Media> Core<M> {
    /// Largest number of pages and blocks that all transactions pin: an eighth of the memory, or what one
    /// transaction may.
    pub fn pin_limit(&self) -> usize {
        (self.options.memory_bytes / 8 / BLOCK_BYTES).max(MOST_PINS)
    }

    /// Pins what the transaction has seen and waits for. One of them can always pin, so that it comes to
    /// its end; others that find no room rely on being served soon.
    pub(super) fn pin(&mut self, running: &mut InTransaction) {
        if leaves_out(Mutation::Pins) {
            return;
        }
        let mut places = Vec::new();
        for &(object, block) in &running.seen {
            self.map.places_on_path(object, block, 0, true, &mut places);
        }
        for &(object, block) in running.changes.contents.places() {
            self.map.places_on_path(object, block, 0, false, &mut places);
        }
        for range in &running.changes.ranges {
            self.places_of(range, &mut places);
        }
        places.extend(self.map.need().pages.iter().map(|page| page.address));
        places.extend(self.map.need().blocks.iter().map(|(address, _)| *address));
        places.sort_unstable();
        places.dedup();
        self.counters.most_pins = self.counters.most_pins.max(places.len());
        places.truncate(MOST_PINS);
        self.map.repin(&running.pins, &places);
        let all = self.map.pins().len();
        if all > self.pin_limit() && all > places.len() {
            self.map.repin(&places, &[]);
            places.clear();
        }
        running.pins = places;
        self.counters.all_pins = self.counters.all_pins.max(self.map.pins().len());
    }

    /// Pages at the ends of the pieces of a range.
    fn places_of(&mut self, range: &RangeChange, places: &mut Vec<BlockAddress>) {
        let (object, first, count) = range.changed();
        let Some(root) = self.map.root_of(object) else { return };
        let source = range.source().map(|(source, _)| source);
        let phase = range.source().map_or(0, |(_, source_first)| source_first.distance_from(first));
        let level = source.and_then(|source| self.map.root_of(source)).map_or(root.level, |root| root.level);
        let mut pieces = Vec::new();
        Map::pieces(root.level.min(level), first, count, phase, |level, at, _| pieces.push((level, at)));
        for (level, at) in pieces {
            let level = if matches!(range, RangeChange::Payload { .. }) { 0 } else { level };
            self.map.places_on_path(object, at, level, false, places);
            if let Some(source) = source {
                self.map.places_on_path(source, at.at_distance(phase), level, false, places);
            }
        }
    }

    /// Ends the pins of a transaction.
    pub(in crate::core) fn unpin(&mut self, running: &mut InTransaction) {
        self.map.repin(&running.pins, &[]);
        running.pins.clear();
    }
}
