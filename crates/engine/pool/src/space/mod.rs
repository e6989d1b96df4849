//! Space map: a 16-bit reference count for every block, and the set of blocks that may be
//! allocated.
//!
//! A block may be allocated if its count was zero at the last checkpoint and it was not allocated
//! since (the pin and release rules of the engine): a freed block stays untouched until a
//! checkpoint that no longer names it is durable. Counts are kept per segment, loaded on demand,
//! and written by a checkpoint to the other of two fixed slots; the index of slots and checksums is
//! always in memory, 8 bytes per 8 MiB.

mod allocation;
mod checkpoint;
mod discards;
pub(crate) mod layout;
mod references;
mod segment;
pub(crate) mod slot;
#[cfg(test)]
mod tests;

pub use allocation::Stream;
use checkpoint::Ended;
pub use checkpoint::SpaceWrites;
pub use discards::FreeRun;

use crate::checksum::Crc32c;
use crate::clock::{Clock, Verdict};
use crate::space::layout::{Layout, ZONE_SEGMENTS};
use crate::space::slot::SlotEntry;
use media::{BLOCK_BYTES, BlockAddress};
use rustc_hash::FxHashMap;
use segment::{Bits, N, Resident, Segment, WORDS, bit, set};
use std::collections::{BTreeSet, VecDeque};

/// Limit of a count, at which it stays: the block is never freed again by counting.
pub const STICKY: u16 = u16::MAX;

/// Last written slots of the counts of each segment, of the index of each zone, and of the index of
/// each group of zones.
struct Index {
    segments: Vec<SlotEntry>,
    zones: Vec<SlotEntry>,
    groups: Vec<SlotEntry>,
}

/// Reference counts and allocation.
pub struct SpaceMap {
    layout: Layout,
    resident: Resident,
    index: Index,
    /// Resident segments with allocatable blocks.
    with_space: BTreeSet<u32>,
    search: Search,
    /// Number of blocks that data and map pages can use.
    usable: u64,
    resident_available: u64,
    total_available: u64,
    /// Number of allocated blocks according to the root, with later changes. The number comes from
    /// the disk and may be wrong, so subtraction stops at zero.
    allocated: u64,
    pinned: u64,
    /// Number of the present generation: that of all changes since the last freeze.
    generation: u32,
    changes: Changes,
    /// Checkpoint in flight.
    ended: Ended,
    /// Segments with frozen blocks that a flip did not release.
    held: BTreeSet<u32>,
    future: FxHashMap<u32, Box<Bits>>,
    /// Segments with unreadable counts, and the reason: no block there is allocated or freed any
    /// longer.
    lost: FxHashMap<u32, String>,
    clock: Clock<u32>,
    /// Released runs to be discarded; `None` without discards.
    discards: Option<VecDeque<FreeRun>>,
    /// Zones whose index has to be written although none of their segments changed.
    stale: BTreeSet<u32>,
    /// Growth in the checkpoint in flight: segments from this one on may not be allocated yet.
    grown_from: Option<u32>,
}

/// Changes in the present generation.
#[derive(Default)]
struct Changes {
    /// Segments whose counts changed.
    segments: Vec<u32>,
    /// Number of blocks freed.
    freed: u64,
}

/// Places at which allocation goes on.
#[derive(Default)]
struct Search {
    /// For each stream, the segment in use and the first of its blocks to look at.
    open: [Option<(u32, usize)>; 3],
    /// Segment at which the search for the next one begins.
    cursor: u32,
}

impl SpaceMap {
    /// Creates the map of an empty pool.
    pub fn new(layout: Layout) -> Self {
        let mut map = Self {
            layout,
            resident: Resident::new(layout.segments()),
            index: Index {
                segments: unwritten(layout.segments()),
                zones: vec![SlotEntry::default(); layout.zones() as usize],
                groups: vec![SlotEntry::default(); layout.groups() as usize],
            },
            with_space: BTreeSet::new(),
            search: Search::default(),
            usable: layout.usable_blocks(),
            resident_available: 0,
            total_available: 0,
            allocated: 0,
            pinned: 0,
            generation: 1,
            changes: Changes::default(),
            ended: Ended::default(),
            held: BTreeSet::new(),
            future: FxHashMap::default(),
            lost: FxHashMap::default(),
            clock: Clock::default(),
            discards: None,
            stale: BTreeSet::new(),
            grown_from: None,
        };
        map.recount();
        map
    }

    fn recount(&mut self) {
        self.total_available = (0..self.layout.segments()).map(|s| self.indexed_free(s)).sum();
    }

    /// Number of free blocks of a segment that is not resident.
    fn indexed_free(&self, segment: u32) -> u64 {
        if self.layout.is_metadata(segment) || self.lost.contains_key(&segment) {
            return 0;
        }
        match self.index.segments.get(segment as usize) {
            Some(e) if e.slot().is_some() => u64::from(e.free()),
            _ => self.layout.segment_blocks(segment),
        }
    }

    /// Takes over the index read from disk.
    pub fn load_index(&mut self, groups: Vec<SlotEntry>, zones: Vec<SlotEntry>, index: Vec<SlotEntry>, allocated: u64) {
        self.index = Index { segments: index, zones, groups };
        self.allocated = allocated;
        self.recount();
    }

    /// Upper index, for the root.
    pub fn groups(&self) -> &[SlotEntry] {
        &self.index.groups
    }

    /// Number of blocks whose count is not zero.
    pub fn allocated(&self) -> u64 {
        self.allocated
    }

    /// Number of blocks that may be allocated now.
    pub fn available(&self) -> u64 {
        self.total_available
    }

    /// Number of blocks freed but not yet released by a checkpoint.
    pub fn pinned(&self) -> u64 {
        self.pinned
    }

    /// Number of blocks freed since the last freeze: those that one more checkpoint would make
    /// available.
    pub fn freed(&self) -> u64 {
        self.changes.freed
    }

    /// Layout of the data area.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the segment of `address` if its counts are not in memory; `Err` if the address is
    /// outside the data area.
    #[inline]
    pub fn missing(&mut self, address: BlockAddress) -> Result<Option<u32>, String> {
        let Some((segment, _)) = self.layout.locate(address) else {
            return Err(format!("block {address} lies outside the data area"));
        };
        if self.layout.is_metadata(segment) {
            return Err(format!("block {address} lies in the space map"));
        }
        if let Some(s) = self.resident.get_mut(segment) {
            s.referenced = true;
            return Ok(None);
        }
        if let Some(reason) = self.lost.get(&segment) {
            return Err(reason.clone());
        }
        Ok((!self.materialise(segment)).then_some(segment))
    }

    /// Makes a never-written segment resident. False if it has to be read.
    fn materialise(&mut self, segment: u32) -> bool {
        if self.index.segments.get(segment as usize).is_none_or(|e| e.slot().is_some())
            || self.layout.is_metadata(segment)
        {
            return false;
        }
        self.insert(segment, Box::new([0; N]));
        true
    }

    /// Gives up a segment whose counts fail their checksum. From now on every block there has the
    /// limit count, which the next checkpoint makes durable: no block there is allocated or freed
    /// until a repair recounts.
    pub fn give_up(&mut self, segment: u32) {
        if self.resident.contains(segment) || self.layout.is_metadata(segment) {
            return;
        }
        let blocks = self.layout.segment_blocks(segment) as usize;
        let mut counts = Box::new([0; N]);
        counts[..blocks].fill(STICKY);
        self.allocated += self.indexed_free(segment);
        self.insert(segment, counts);
        self.change(segment);
    }

    /// True if these are the counts of a given-up segment.
    pub fn is_given_up(&self, segment: u32, counts: &[u16; N]) -> bool {
        counts[..self.layout.segment_blocks(segment) as usize].iter().all(|count| *count == STICKY)
    }

    /// Notes that the counts of a segment are unreadable.
    pub fn lose(&mut self, segment: u32, reason: &str) {
        if !self.resident.contains(segment) && !self.lost.contains_key(&segment) {
            self.total_available -= self.indexed_free(segment);
            self.lost.insert(segment, reason.to_owned());
        }
    }

    /// Index entry of a segment: the last written slot of its counts.
    pub fn entry(&self, segment: u32) -> SlotEntry {
        self.index.segments.get(segment as usize).copied().unwrap_or_default()
    }

    /// Block to read for `segment`, and the CRC it must have.
    pub fn source(&self, segment: u32) -> Option<(BlockAddress, Crc32c)> {
        let entry = self.index.segments.get(segment as usize)?;
        Some((self.layout.counts_block(segment, entry.slot()?), entry.crc()))
    }

    /// Verifies a count block read for `segment` and makes it resident.
    pub fn load(&mut self, segment: u32, block: &[u8]) -> Result<(), String> {
        let (address, crc) = self.source(segment).ok_or_else(|| format!("segment {segment} was never written"))?;
        if self.resident.contains(segment) {
            return Ok(());
        }
        let found = Crc32c::of(block);
        if found != crc || block.len() != BLOCK_BYTES {
            return Err(format!(
                "reference counts of segment {segment} (block {address}): checksum {found:08x}, index says {crc:08x}"
            ));
        }
        let mut counts = Box::new([0u16; N]);
        for (count, raw) in counts.iter_mut().zip(block.as_chunks::<2>().0) {
            *count = u16::from_le_bytes(*raw);
        }
        self.insert(segment, counts);
        Ok(())
    }

    fn insert(&mut self, segment: u32, counts: Box<[u16; N]>) {
        let blocks = self.layout.segment_blocks(segment) as usize;
        let future = self.future.get(&segment);
        let mut allocatable = [0; WORDS];
        let mut available = 0;
        let mut zero_counts = 0;
        for (i, count) in counts.iter().enumerate().take(blocks) {
            if *count == 0 {
                zero_counts += 1;
                if !future.is_some_and(|f| bit(f, i)) {
                    set(&mut allocatable, i);
                    available += 1;
                }
            }
        }
        self.total_available = self.total_available - self.indexed_free(segment) + u64::from(available);
        self.resident_available += u64::from(available);
        if available > 0 {
            self.with_space.insert(segment);
        }
        self.clock.add(segment);
        self.resident.insert(
            segment,
            Segment {
                counts,
                allocatable,
                freed: [0; WORDS],
                frozen: [0; WORDS],
                available,
                zero_counts,
                reserved: 0,
                changed: 0,
                encoded: 0,
                flushing: false,
                referenced: true,
            },
        );
    }

    /// Precedes each change of the counts or freed blocks of a segment: the next checkpoint writes it.
    fn change(&mut self, segment: u32) {
        if self.resident.get(segment).is_some_and(|s| s.changed != self.generation) {
            self.first_change(segment);
        }
    }

    /// Replaces the entry of a segment whose counts a repair has rewritten; they are not in memory.
    /// [`SpaceMap::rebuilt`] must follow.
    pub fn replace_entry(&mut self, segment: u32, entry: SlotEntry) {
        if let Some(known) = self.index.segments.get_mut(segment as usize) {
            *known = entry;
            self.stale.insert(segment / ZONE_SEGMENTS as u32);
        }
    }

    /// Makes the next checkpoint rewrite the index of a zone, because it is unreadable or a new
    /// root is needed.
    pub fn distrust(&mut self, zone: u32) {
        self.stale.insert(zone);
    }

    /// True if the next checkpoint repairs the index.
    pub fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Ends a rebuild: all entries are correct, and this many blocks are in use.
    pub fn rebuilt(&mut self, allocated: u64) {
        self.allocated = allocated;
        self.recount();
    }

    /// True if the segment's counts are in memory.
    pub fn is_resident(&self, segment: u32) -> bool {
        self.resident.contains(segment)
    }

    /// True if blocks of the segment are in use, according to index and memory.
    pub fn in_use(&self, segment: u32) -> bool {
        let blocks = self.layout.segment_blocks(segment);
        let free = self.resident.get(segment).map_or(self.indexed_free(segment), |s| u64::from(s.zero_counts));
        !self.layout.is_metadata(segment) && free < blocks
    }

    /// Number of segments whose counts are in memory.
    pub fn resident_segments(&self) -> usize {
        self.resident.len()
    }

    /// Number of blocks that data and map pages can use, allocated or not.
    pub fn usable(&self) -> u64 {
        self.usable
    }

    /// Evicts clean segments while more than `limit` remain, least recently used first, as far as one
    /// walk of the clock comes. Returns the number of its steps.
    pub fn evict(&mut self, limit: usize) -> usize {
        let present = self.resident.len();
        let mut clock = std::mem::take(&mut self.clock);
        let steps = clock.walk(present.saturating_sub(limit), present, |segment, _, evict| {
            let open = self.search.open.iter().flatten().any(|(o, _)| *o == segment);
            let Some(s) = self.resident.get_mut(segment) else { return Verdict::Stale };
            let busy = s.changed != s.encoded || s.flushing || self.held.contains(&segment) || s.reserved > 0 || open;
            // The index entry does not describe a segment that replay has masked, or that was never
            // written.
            let unknown = self.index.segments[segment as usize].slot().is_none() || self.future.contains_key(&segment);
            if !evict || busy || s.referenced || unknown {
                s.referenced &= !evict;
                return Verdict::Kept;
            }
            self.resident_available -= u64::from(s.available);
            self.total_available -= u64::from(s.available);
            self.with_space.remove(&segment);
            self.resident.remove(segment);
            self.total_available += self.indexed_free(segment);
            Verdict::Evicted
        });
        self.clock = clock;
        steps
    }
}

/// Returns entries of never-written segments, in untouched memory.
pub fn unwritten(segments: u32) -> Vec<SlotEntry> {
    let segments = segments as usize;
    <SlotEntry as zerocopy::FromZeros>::new_vec_zeroed(segments)
        .unwrap_or_else(|_| vec![SlotEntry::default(); segments])
}
