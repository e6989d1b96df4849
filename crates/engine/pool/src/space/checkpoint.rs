//! Checkpoints of the space map: the blocks to write, the release of blocks afterwards, and growth.

use super::SpaceMap;
use super::discards::note_runs;
use super::segment::{Bits, WORDS, set};
use crate::checksum::Crc32c;
use crate::mutations::{Mutation, leaves_out};
use crate::space::layout::{GROUP_ZONES, Layout, SEGMENT_BLOCKS, ZONE_SEGMENTS};
use crate::space::slot::SlotEntry;
use media::{BlockAddress, Buffer};
use std::collections::BTreeSet;
use zerocopy::IntoBytes;

/// Writes of a checkpoint for the space map: block address and content.
pub type SpaceWrites = Vec<(BlockAddress, Buffer)>;

/// Counts of the checkpoint in flight: those of a generation that has ended, as they were then.
#[derive(Default)]
pub(super) struct Ended {
    /// Segments changed in that generation; those from `next` on may still have to be encoded.
    segments: Vec<u32>,
    next: usize,
    /// Segments that were encoded because they changed again, not yet handed out.
    early: SpaceWrites,
    /// Zones and groups of zones whose index is to be written.
    zones: BTreeSet<u32>,
    groups: BTreeSet<u32>,
    /// Present while blocks are released; true: they stay unavailable.
    release: Option<bool>,
}

impl SpaceMap {
    /// Number of segments changed since the last freeze.
    pub fn dirty_segments(&self) -> usize {
        self.changes.segments.len()
    }

    /// Freezes the present counts: [`Self::next_write`] returns the blocks to write, and a release
    /// makes those available that are free now. The blocks of the freeze before must be released.
    pub fn freeze(&mut self) {
        debug_assert!(self.ended.segments.is_empty() && self.ended.early.is_empty());
        self.ended = Ended {
            segments: std::mem::take(&mut self.changes).segments,
            zones: std::mem::take(&mut self.stale),
            ..Ended::default()
        };
        self.generation += 1;
        #[cfg(feature = "mutations")]
        crate::mutations::take_allocated();
    }

    /// Notes the first change of a resident segment in this generation. Its counts are encoded before
    /// they change, if the checkpoint in flight needs them.
    #[cold]
    #[inline(never)]
    pub(super) fn first_change(&mut self, segment: u32) {
        let ended = self.generation - 1;
        let Some(s) = self.resident.get(segment) else { return };
        if s.changed == ended && s.encoded != ended && !leaves_out(Mutation::CountsBeforeChange) {
            let mut buffer = Buffer::zeroed(1);
            let address = self.encode(segment, &mut buffer);
            self.ended.early.extend(address.map(|address| (address, buffer)));
        }
        if let Some(s) = self.resident.get_mut(segment) {
            s.changed = self.generation;
            self.changes.segments.push(segment);
        }
    }

    /// Encodes the counts of a segment of the generation that has ended, and returns the block to
    /// write them to. From now on only the next release makes blocks available that are freed there.
    fn encode(&mut self, segment: u32, buffer: &mut Buffer) -> Option<BlockAddress> {
        let s = self.resident.get_mut(segment)?;
        for (raw, count) in buffer.as_chunks_mut::<2>().0.iter_mut().zip(s.counts.iter()) {
            *raw = count.to_le_bytes();
        }
        let entry = &mut self.index.segments[segment as usize];
        let slot = entry.next_slot();
        *entry = SlotEntry::new(slot, Crc32c::of(buffer), s.zero_counts as u16);
        for (frozen, freed) in s.frozen.iter_mut().zip(s.freed.iter_mut()) {
            *frozen |= *freed;
            *freed = 0;
        }
        s.encoded = self.generation - 1;
        s.flushing = true;
        self.ended.zones.insert(segment / ZONE_SEGMENTS as u32);
        Some(self.layout.counts_block(segment, slot))
    }

    /// Number of blocks that [`Self::next_write`] still returns, without those of the index.
    pub fn counts_to_write(&self) -> usize {
        self.ended.early.len() + self.ended.segments.len() - self.ended.next
    }

    /// Returns the next block that the checkpoint in flight has to write: counts, then their index,
    /// then the index of that. `block` provides buffers of one block.
    pub fn next_write(&mut self, mut block: impl FnMut() -> Buffer) -> Option<(BlockAddress, Buffer)> {
        while let Some(&segment) = self.ended.segments.get(self.ended.next) {
            self.ended.next += 1;
            let encoded = self.resident.get(segment).is_none_or(|s| s.encoded == self.generation - 1);
            if encoded {
                // Changed again: it is one of the early ones.
                match self.ended.early.pop() {
                    Some(write) => return Some(write),
                    None => continue,
                }
            }
            let mut buffer = block();
            if let Some(address) = self.encode(segment, &mut buffer) {
                return Some((address, buffer));
            }
        }
        if let Some(write) = self.ended.early.pop() {
            return Some(write);
        }
        if let Some(zone) = self.ended.zones.pop_first() {
            self.ended.groups.insert(zone / GROUP_ZONES as u32);
            let from = zone as usize * ZONE_SEGMENTS as usize;
            let to = self.index.segments.len().min(from + ZONE_SEGMENTS as usize);
            let slot = self.index.zones[zone as usize].next_slot();
            let (buffer, crc) = index_page(&self.index.segments[from..to], block());
            self.index.zones[zone as usize] = SlotEntry::new(slot, crc, 0);
            return Some((self.layout.zone_index_block(zone, slot), buffer));
        }
        let group = self.ended.groups.pop_first()?;
        let from = group as usize * GROUP_ZONES as usize;
        let to = self.index.zones.len().min(from + GROUP_ZONES as usize);
        let slot = self.index.groups[group as usize].next_slot();
        let (buffer, crc) = index_page(&self.index.zones[from..to], block());
        self.index.groups[group as usize] = SlotEntry::new(slot, crc, 0);
        Some((self.layout.group_index_block(group, slot), buffer))
    }

    /// Begins to release blocks after the checkpoint is durable: those that were free at its freeze
    /// and not allocated since may be allocated. [`Self::release_some`] does it.
    ///
    /// With `hold` they stay unavailable, and a later release without it makes them available.
    pub fn begin_release(&mut self, hold: bool) {
        #[cfg(feature = "mutations")]
        self.release_too_much();
        self.ended.release = Some(hold);
    }

    /// Releases the blocks of up to `most` segments. Returns their number; fewer than `most`: all are
    /// released.
    pub fn release_some(&mut self, most: usize) -> usize {
        let Some(hold) = self.ended.release else { return 0 };
        let mut done = 0;
        while done < most {
            let held = if hold { None } else { self.held.pop_first() };
            let Some(segment) = held.or_else(|| self.ended.segments.pop()) else {
                self.ended = Ended::default();
                break;
            };
            done += 1;
            match hold {
                true => self.hold_back(segment),
                false => self.release(segment),
            }
        }
        done
    }

    fn hold_back(&mut self, segment: u32) {
        if let Some(s) = self.resident.get_mut(segment) {
            s.flushing = false;
        }
        self.held.insert(segment);
    }

    fn release(&mut self, segment: u32) {
        let future = self.future.get(&segment);
        let Some(s) = self.resident.get_mut(segment) else { return };
        s.flushing = false;
        let mut freed = 0;
        let mut usable = 0;
        let mut released: Bits = [0; WORDS];
        for i in 0..WORDS {
            let word = std::mem::take(&mut s.frozen[i]);
            freed += word.count_ones();
            let word = word & !s.allocatable[i] & !future.map_or(0, |f| f[i]);
            usable += word.count_ones();
            s.allocatable[i] |= word;
            released[i] = word;
        }
        if let Some(discards) = &mut self.discards {
            note_runs(discards, &released, self.layout.segment_start(segment));
        }
        s.available += usable;
        self.pinned -= u64::from(freed);
        self.resident_available += u64::from(usable);
        self.total_available += u64::from(usable);
        if s.available > 0 {
            self.with_space.insert(segment);
        }
    }

    /// Makes a segment part of the next checkpoint, so that it stays in memory until then. False if
    /// it has to be read first.
    pub fn hold(&mut self, segment: u32) -> bool {
        let held = self.resident.contains(segment) || self.materialise(segment);
        self.change(segment);
        held
    }

    /// The segment that a growth extends: the last one, if it is short and usable for data.
    pub fn short_segment(&self) -> Option<u32> {
        let last = self.layout.segments().checked_sub(1)?;
        (self.layout.segment_blocks(last) < SEGMENT_BLOCKS && !self.layout.is_metadata(last)).then_some(last)
    }

    /// Moves the end of the data area to `end` from the next freeze on, which must follow at once.
    /// New blocks may be allocated after its release. `None`, without effect, if the short segment
    /// is not held.
    pub fn begin_growth(&mut self, end: BlockAddress) -> Option<()> {
        let short = self.short_segment();
        let grown = Layout { end, ..self.layout };
        if let Some(segment) = short {
            let new = self.layout.segment_blocks(segment)..grown.segment_blocks(segment);
            self.change(segment);
            let s = self.resident.get_mut(segment)?;
            // Treated as freed now, so that a checkpoint that knows them comes first.
            for i in new.clone() {
                set(&mut s.freed, i as usize);
            }
            s.zero_counts += (new.end - new.start) as u32;
            self.pinned += new.end - new.start;
            self.usable += new.end - new.start;
        }
        self.grown_from = Some(self.layout.segments());
        self.layout = grown;
        self.resident.places.resize(grown.segments() as usize, 0);
        self.index.segments.resize(grown.segments() as usize, SlotEntry::default());
        self.index.zones.resize(grown.zones() as usize, SlotEntry::default());
        self.index.groups.resize(grown.groups() as usize, SlotEntry::default());
        Some(())
    }

    /// Completes a growth whose checkpoint is durable.
    pub fn finish_growth(&mut self) {
        if self.grown_from.take().is_some() {
            let usable = self.layout.usable_blocks();
            self.total_available += usable - self.usable;
            self.usable = usable;
        }
    }
}

#[cfg(feature = "mutations")]
impl SpaceMap {
    /// Simulates a flip without the release rule: moves blocks freed since the freeze to those that
    /// it releases.
    fn release_too_much(&mut self) {
        let unnamed = crate::mutations::take_allocated();
        let named = crate::mutations::leaves_out(crate::mutations::Mutation::KeepNamed);
        if !named && !crate::mutations::leaves_out(crate::mutations::Mutation::KeepUnnamed) {
            return;
        }
        for segment in self.changes.segments.clone() {
            let start = self.layout.segment_start(segment);
            let Some(s) = self.resident.get_mut(segment) else { continue };
            for i in 0..super::segment::N {
                if super::segment::bit(&s.freed, i)
                    && s.counts[i] == 0
                    && named != unnamed.contains(&(start + i as u64))
                {
                    super::segment::clear(&mut s.freed, i);
                    set(&mut s.frozen, i);
                }
            }
            if !self.ended.segments.contains(&segment) {
                self.ended.segments.push(segment);
            }
        }
    }
}

fn index_page(entries: &[SlotEntry], mut buffer: Buffer) -> (Buffer, Crc32c) {
    let bytes = entries.as_bytes();
    buffer[..bytes.len()].copy_from_slice(bytes);
    buffer[bytes.len()..].fill(0);
    let crc = Crc32c::of(&buffer);
    (buffer, crc)
}
