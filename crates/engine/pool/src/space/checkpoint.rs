//! Checkpoints of the space map: the blocks to write, the release of blocks afterwards, and growth.

use super::SpaceMap;
use super::discards::note_runs;
use super::segment::{Bits, WORDS, set};
use crate::checksum::Crc32c;
use crate::space::layout::{GROUP_ZONES, Layout, SEGMENT_BLOCKS, ZONE_SEGMENTS};
use crate::space::slot::SlotEntry;
use media::{BlockAddress, Buffer};
use std::collections::BTreeSet;
use zerocopy::IntoBytes;

/// Writes of a checkpoint for the space map: block address and content.
pub type SpaceWrites = Vec<(BlockAddress, Buffer)>;

impl SpaceMap {
    /// Number of segments that a freeze would write.
    pub fn dirty_segments(&self) -> usize {
        self.dirty.len()
    }

    /// Freezes the present counts: returns the blocks to write, and remembers which blocks the flip
    /// releases.
    pub fn freeze(&mut self) -> SpaceWrites {
        let mut segments = std::mem::take(&mut self.dirty);
        segments.sort_unstable();
        let mut writes = Vec::with_capacity(segments.len() + 4);
        let mut zones = std::mem::take(&mut self.stale);
        for &segment in &segments {
            let Some(s) = self.resident.get_mut(segment) else { continue };
            let mut buffer = Buffer::zeroed(1);
            for (raw, count) in buffer.as_chunks_mut::<2>().0.iter_mut().zip(s.counts.iter()) {
                *raw = count.to_le_bytes();
            }
            let entry = &mut self.index.segments[segment as usize];
            let slot = entry.next_slot();
            *entry = SlotEntry::new(slot, Crc32c::of(&buffer), s.zero_counts as u16);
            writes.push((self.layout.counts_block(segment, slot), buffer));
            for (frozen, freed) in s.frozen.iter_mut().zip(s.freed.iter_mut()) {
                *frozen |= *freed;
                *freed = 0;
            }
            s.dirty = false;
            s.flushing = true;
            zones.insert(segment / ZONE_SEGMENTS as u32);
        }
        let mut groups = BTreeSet::new();
        for zone in zones {
            let from = zone as usize * ZONE_SEGMENTS as usize;
            let to = self.index.segments.len().min(from + ZONE_SEGMENTS as usize);
            let slot = self.index.zones[zone as usize].next_slot();
            let (buffer, crc) = index_page(&self.index.segments[from..to]);
            self.index.zones[zone as usize] = SlotEntry::new(slot, crc, 0);
            writes.push((self.layout.zone_index_block(zone, slot), buffer));
            groups.insert(zone / GROUP_ZONES as u32);
        }
        for group in groups {
            let from = group as usize * GROUP_ZONES as usize;
            let to = self.index.zones.len().min(from + GROUP_ZONES as usize);
            let slot = self.index.groups[group as usize].next_slot();
            let (buffer, crc) = index_page(&self.index.zones[from..to]);
            self.index.groups[group as usize] = SlotEntry::new(slot, crc, 0);
            writes.push((self.layout.group_index_block(group, slot), buffer));
        }
        self.frozen = segments;
        #[cfg(feature = "mutations")]
        crate::mutations::take_allocated();
        writes
    }

    /// Releases blocks after the checkpoint is durable: those that were free at its freeze and not
    /// allocated since may be allocated.
    ///
    /// With `hold` they stay unavailable, and a later call without it releases them.
    pub fn release(&mut self, hold: bool) {
        #[cfg(feature = "mutations")]
        self.release_too_much();
        let frozen = std::mem::take(&mut self.frozen);
        if hold {
            for segment in frozen {
                if let Some(s) = self.resident.get_mut(segment) {
                    s.flushing = false;
                }
                self.held.insert(segment);
            }
            return;
        }
        for segment in std::mem::take(&mut self.held).into_iter().chain(frozen) {
            let future = self.future.get(&segment);
            let Some(s) = self.resident.get_mut(segment) else { continue };
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
    }

    /// Makes a segment part of the next checkpoint, so that it stays in memory until then. False if
    /// it has to be read first.
    pub fn hold(&mut self, segment: u32) -> bool {
        let held = self.resident.contains(segment) || self.materialise(segment);
        self.mark_dirty(segment);
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
            let s = self.resident.get_mut(segment)?;
            // Treated as freed now, so that a checkpoint that knows them comes first.
            for i in new.clone() {
                set(&mut s.freed, i as usize);
            }
            s.zero_counts += (new.end - new.start) as u32;
            self.pinned += new.end - new.start;
            self.usable += new.end - new.start;
            self.mark_dirty(segment);
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
        let named = crate::mutations::leaves_out(crate::mutations::Mutation::ReleaseNamed);
        if !named && !crate::mutations::leaves_out(crate::mutations::Mutation::ReleaseUnnamed) {
            return;
        }
        for segment in self.dirty.clone() {
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
            if !self.frozen.contains(&segment) {
                self.frozen.push(segment);
            }
        }
    }
}

fn index_page(entries: &[SlotEntry]) -> (Buffer, Crc32c) {
    let mut buffer = Buffer::zeroed(1);
    let bytes = entries.as_bytes();
    buffer[..bytes.len()].copy_from_slice(bytes);
    let crc = Crc32c::of(&buffer);
    (buffer, crc)
}
