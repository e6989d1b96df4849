//! The space map: a 16-bit reference count for every block, and which blocks may be allocated.
//!
//! A block may be allocated when its count was zero at the last checkpoint and it was not allocated since (the pin and release rules
//! of the engine): a block freed now stays untouched until a checkpoint that no longer names it is durable. Counts are kept per
//! segment, loaded on demand and written to the other of two fixed slots by a checkpoint; the index of slots and checksums is
//! always in memory, 8 bytes per 8 MiB.

use crate::layout::{GROUP_ZONES, Layout, SEGMENT_BLOCKS, ZONE_SEGMENTS};
use crate::mutations::{Mutation, leaves_out};
use crate::page::crc32c;
use crate::root::SlotEntry;
use media::{BLOCK_BYTES, Buffer};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};
use zerocopy::IntoBytes;

const WORDS: usize = (SEGMENT_BLOCKS / 64) as usize;
const N: usize = SEGMENT_BLOCKS as usize;
/// A count that reached this stays there: the block is never freed again by counting.
pub const STICKY: u16 = u16::MAX;
/// Allocatable blocks that planning keeps in memory beyond what is asked for, so that allocation finds a good place.
const MARGIN: u64 = 512;

/// Shortest run of free blocks that is discarded: 1 MiB.
const DISCARD_BLOCKS: u64 = 256;
/// Runs noted at most; what is freed beyond that is kept.
const DISCARDS_NOTED: usize = 16_384;

/// What an allocation is for. Each stream fills segments of its own, so that large writes stay contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Map pages and catalog.
    Metadata,
    /// Writes whose data is in the log.
    Small,
    /// Writes whose data goes straight to its place.
    Large,
}

type Bits = [u64; WORDS];

struct Segment {
    counts: Box<[u16; N]>,
    allocatable: Bits,
    freed: Bits,
    frozen: Bits,
    available: u32,
    zero_counts: u32,
    reserved: u32,
    dirty: bool,
    /// Its last checkpointed form is not yet durable.
    flushing: bool,
    referenced: bool,
}

/// The segments in memory: found by number with two loads, since every operation asks for several.
struct Resident {
    /// By segment: place in `arena`, plus 1; 0 when not in memory.
    places: Vec<u32>,
    arena: Vec<Option<Segment>>,
    free: Vec<u32>,
}

impl Resident {
    fn new(segments: u32) -> Self {
        Self { places: vec![0; segments as usize], arena: Vec::new(), free: Vec::new() }
    }

    #[inline]
    fn place(&self, segment: u32) -> Option<usize> {
        (self.places.get(segment as usize)?.checked_sub(1)).map(|place| place as usize)
    }

    #[inline]
    fn get(&self, segment: u32) -> Option<&Segment> {
        self.arena.get(self.place(segment)?)?.as_ref()
    }

    #[inline]
    fn get_mut(&mut self, segment: u32) -> Option<&mut Segment> {
        let place = self.place(segment)?;
        self.arena.get_mut(place)?.as_mut()
    }

    fn contains(&self, segment: u32) -> bool {
        self.place(segment).is_some()
    }

    fn len(&self) -> usize {
        self.arena.len() - self.free.len()
    }

    fn insert(&mut self, segment: u32, content: Segment) {
        let place = match self.free.pop() {
            Some(place) => {
                self.arena[place as usize] = Some(content);
                place
            }
            None => {
                self.arena.push(Some(content));
                self.arena.len() as u32 - 1
            }
        };
        self.places[segment as usize] = place + 1;
    }

    fn remove(&mut self, segment: u32) {
        if let Some(place) = self.place(segment) {
            self.arena[place] = None;
            self.free.push(place as u32);
            self.places[segment as usize] = 0;
        }
    }
}

/// Reference counts and allocation.
pub struct SpaceMap {
    layout: Layout,
    resident: Resident,
    index: Vec<SlotEntry>,
    zones: Vec<SlotEntry>,
    groups: Vec<SlotEntry>,
    /// Resident segments with allocatable blocks.
    with_space: BTreeSet<u32>,
    open: [Option<(u32, usize)>; 3],
    cursor: u32,
    /// Blocks that data and map pages can use.
    usable: u64,
    resident_available: u64,
    total_available: u64,
    allocated: u64,
    pinned: u64,
    dirty: Vec<u32>,
    frozen: Vec<u32>,
    /// Segments with frozen blocks that a flip did not release.
    held: BTreeSet<u32>,
    future: FxHashMap<u32, Box<Bits>>,
    /// Segments whose counts cannot be read, and why: nothing there is allocated or freed any more.
    lost: FxHashMap<u32, String>,
    clock: VecDeque<u32>,
    /// Runs that releases made free, to be discarded; `None` when nobody wants them.
    discards: Option<VecDeque<(u64, u64)>>,
    /// Zones whose index has to be written although none of their segments changed.
    stale: BTreeSet<u32>,
    /// A growth that the checkpoint in flight carries: segments from this one on may not be allocated yet.
    growing: Option<u32>,
}

/// What a checkpoint must write for the space map: block address and content.
pub type SpaceWrites = Vec<(u64, Buffer)>;

fn bit(bits: &Bits, i: usize) -> bool {
    bits[i / 64] >> (i % 64) & 1 == 1
}
fn set(bits: &mut Bits, i: usize) {
    bits[i / 64] |= 1 << (i % 64);
}
fn clear(bits: &mut Bits, i: usize) {
    bits[i / 64] &= !(1 << (i % 64));
}

impl SpaceMap {
    /// The map of an empty pool.
    pub fn new(layout: Layout) -> Self {
        let mut map = Self {
            layout,
            resident: Resident::new(layout.segments()),
            index: unwritten(layout.segments()),
            zones: vec![SlotEntry::default(); layout.zones() as usize],
            groups: vec![SlotEntry::default(); layout.groups() as usize],
            with_space: BTreeSet::new(),
            open: [None; 3],
            cursor: 0,
            usable: layout.usable_blocks(),
            resident_available: 0,
            total_available: 0,
            allocated: 0,
            pinned: 0,
            dirty: Vec::new(),
            frozen: Vec::new(),
            held: BTreeSet::new(),
            future: FxHashMap::default(),
            lost: FxHashMap::default(),
            clock: VecDeque::new(),
            discards: None,
            stale: BTreeSet::new(),
            growing: None,
        };
        map.recount();
        map
    }

    fn recount(&mut self) {
        self.total_available = (0..self.layout.segments()).map(|s| self.indexed_free(s)).sum();
    }

    /// Free blocks of a segment that is not resident.
    fn indexed_free(&self, segment: u32) -> u64 {
        if self.layout.is_metadata(segment) || self.lost.contains_key(&segment) {
            return 0;
        }
        match self.index.get(segment as usize) {
            Some(e) if e.slot().is_some() => u64::from(e.free()),
            _ => self.layout.segment_blocks(segment),
        }
    }

    /// Takes over the index read from disk: `zone_pages` in order, empty where the zone was never written.
    pub fn load_index(&mut self, groups: Vec<SlotEntry>, zones: Vec<SlotEntry>, index: Vec<SlotEntry>, allocated: u64) {
        self.groups = groups;
        self.zones = zones;
        self.index = index;
        self.allocated = allocated;
        self.recount();
    }

    /// The upper index, for the root.
    pub fn groups(&self) -> &[SlotEntry] {
        &self.groups
    }

    /// Blocks whose count is not zero.
    pub fn allocated(&self) -> u64 {
        self.allocated
    }

    /// Blocks that may be allocated now.
    pub fn available(&self) -> u64 {
        self.total_available
    }

    /// Blocks freed but not yet released by a checkpoint.
    pub fn pinned(&self) -> u64 {
        self.pinned
    }

    /// The layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The segment of `address` if its counts are not in memory; `Err` when the address is outside the data area.
    #[inline]
    pub fn missing(&mut self, address: u64) -> Result<Option<u32>, String> {
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

    /// Makes a never-written segment resident. False when it has to be read.
    fn materialise(&mut self, segment: u32) -> bool {
        if self.index.get(segment as usize).is_none_or(|e| e.slot().is_some()) || self.layout.is_metadata(segment) {
            return false;
        }
        self.insert(segment, Box::new([0; N]));
        true
    }

    /// The counts of a segment fail their checksum. From now on every block there counts as one that too many refer to, which the next checkpoint makes
    /// durable: nothing there is allocated or given back until a repair counts anew.
    pub fn give_up(&mut self, segment: u32) {
        if self.resident.contains(segment) || self.layout.is_metadata(segment) {
            return;
        }
        let blocks = self.layout.segment_blocks(segment) as usize;
        let mut counts = Box::new([0; N]);
        counts[..blocks].fill(STICKY);
        self.allocated += self.indexed_free(segment);
        self.insert(segment, counts);
        if let Some(s) = self.resident.get_mut(segment) {
            s.dirty = true;
            self.dirty.push(segment);
        }
    }

    /// True when these are the counts of a segment that was given up.
    pub fn is_given_up(&self, segment: u32, counts: &[u16; N]) -> bool {
        counts[..self.layout.segment_blocks(segment) as usize].iter().all(|count| *count == STICKY)
    }

    /// The counts of a segment cannot be read.
    pub fn lose(&mut self, segment: u32, reason: &str) {
        if !self.resident.contains(segment) && !self.lost.contains_key(&segment) {
            self.total_available -= self.indexed_free(segment);
            self.lost.insert(segment, reason.to_owned());
        }
    }

    /// What the index says of a segment: where its counts were written last.
    pub fn entry(&self, segment: u32) -> SlotEntry {
        self.index.get(segment as usize).copied().unwrap_or_default()
    }

    /// Block to read for `segment`, and the CRC it must have.
    pub fn source(&self, segment: u32) -> Option<(u64, u32)> {
        let entry = self.index.get(segment as usize)?;
        Some((self.layout.counts_block(segment, entry.slot()?), entry.crc()))
    }

    /// Checks a count block read for `segment` and makes it resident.
    pub fn load(&mut self, segment: u32, block: &[u8]) -> Result<(), String> {
        let (address, crc) = self.source(segment).ok_or_else(|| format!("segment {segment} was never written"))?;
        if self.resident.contains(segment) {
            return Ok(());
        }
        let found = crc32c(block);
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
        self.clock.push_back(segment);
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
                dirty: false,
                flushing: false,
                referenced: true,
            },
        );
    }

    /// Prepares for `n` allocations: true when memory holds enough allocatable blocks. Otherwise `need` gets the segments to load first, or,
    /// when it stays empty, the pool does not have that many.
    pub fn prepare(&mut self, n: u64, need: &mut Vec<u32>) -> bool {
        if self.resident_available >= n + MARGIN {
            return true;
        }
        let segments = self.growing.unwrap_or_else(|| self.layout.segments());
        let mut coming = 0;
        for threshold in [SEGMENT_BLOCKS / 2, 1] {
            let mut scanned = 0;
            while scanned < segments && self.resident_available + coming < n + MARGIN && need.len() < 16 {
                let segment = self.cursor % segments.max(1);
                self.cursor = (self.cursor + 1) % segments.max(1);
                scanned += 1;
                if self.resident.contains(segment) || self.indexed_free(segment) < threshold {
                    continue;
                }
                if !self.materialise(segment) {
                    coming += self.indexed_free(segment);
                    need.push(segment);
                }
            }
        }
        if self.resident_available >= n {
            // Enough to go on; what was asked for only improves later choices.
            need.clear();
            return true;
        }
        false
    }

    /// Allocates a block. `prepare` must have promised it. `None` is a broken promise.
    pub fn allocate(&mut self, stream: Stream) -> Option<u64> {
        self.allocate_run(stream, 1).map(|(address, _)| address)
    }

    /// Allocates up to `want` consecutive blocks and returns the first and their number.
    pub fn allocate_run(&mut self, stream: Stream, want: u64) -> Option<(u64, u64)> {
        let slot = stream as usize;
        loop {
            if let Some((segment, from)) = self.open[slot]
                && let Some(s) = self.resident.get_mut(segment)
            {
                if let Some((at, run)) = next_run(&s.allocatable, from, want as usize) {
                    for i in at..at + run {
                        clear(&mut s.allocatable, i);
                    }
                    s.available -= run as u32;
                    if s.available == 0 {
                        self.with_space.remove(&segment);
                    }
                    self.resident_available -= run as u64;
                    self.total_available -= run as u64;
                    self.open[slot] = Some((segment, at + run));
                    return Some((self.layout.segment_start(segment) + at as u64, run as u64));
                }
                self.open[slot] = None;
            }
            let segment = self.choose(slot)?;
            self.open[slot] = Some((segment, 0));
        }
    }

    fn choose(&self, slot: usize) -> Option<u32> {
        let taken = |s: &u32| self.open.iter().enumerate().any(|(i, o)| i != slot && o.is_some_and(|(t, _)| t == *s));
        let roomy = |s: &&u32| self.resident.get(**s).is_some_and(|x| x.available >= MARGIN as u32) && !taken(s);
        self.with_space
            .iter()
            .find(roomy)
            .or_else(|| self.with_space.iter().find(|s| !taken(s)))
            .or_else(|| self.with_space.iter().next())
            .copied()
    }

    /// Marks an allocated block as kept for a write that has not taken effect.
    pub fn reserve(&mut self, address: u64) {
        if let Some((segment, _)) = self.layout.locate(address)
            && let Some(s) = self.resident.get_mut(segment)
        {
            s.reserved += 1;
        }
    }

    /// Ends `reserve`; with `free` the block is given back (at the next checkpoint).
    pub fn unreserve(&mut self, address: u64, free: bool) {
        let Some((segment, i)) = self.layout.locate(address) else { return };
        let Some(s) = self.resident.get_mut(segment) else { return };
        s.reserved -= 1;
        if free {
            set(&mut s.freed, i);
            self.pinned += 1;
            self.mark_dirty(segment);
        }
    }

    fn mark_dirty(&mut self, segment: u32) {
        if let Some(s) = self.resident.get_mut(segment)
            && !s.dirty
        {
            s.dirty = true;
            self.dirty.push(segment);
        }
    }

    /// Count of a block whose segment is resident.
    #[inline]
    pub fn count(&self, address: u64) -> Option<u16> {
        let (segment, i) = self.layout.locate(address)?;
        Some(self.resident.get(segment)?.counts[i])
    }

    /// Adds a reference to each block of `addresses` that is not 0, all of which have one already. `None` when a segment is not resident or a
    /// block has no reference.
    pub fn share(&mut self, addresses: impl Iterator<Item = u64>) -> Option<()> {
        let mut addresses = addresses.filter(|address| *address != 0).peekable();
        while let Some(first) = addresses.peek() {
            let (segment, _) = self.layout.locate(*first)?;
            let blocks = self.layout.neighbours(*first);
            let s = self.resident.get_mut(segment)?;
            while let Some(address) = addresses.next_if(|address| blocks.contains(address)) {
                let count = s.counts.get_mut((address - blocks.start) as usize).filter(|count| **count > 0)?;
                *count = count.saturating_add(1);
            }
            if !s.dirty {
                s.dirty = true;
                self.dirty.push(segment);
            }
        }
        Some(())
    }

    /// Removes a reference of each block of `addresses` that is not 0; calls `freed` with those that lost their last one. `None` when a segment is
    /// not resident or a block has no reference.
    pub fn unshare(&mut self, addresses: impl Iterator<Item = u64>, mut freed: impl FnMut(u64)) -> Option<()> {
        let mut addresses = addresses.filter(|address| *address != 0).peekable();
        while let Some(first) = addresses.peek() {
            let (segment, _) = self.layout.locate(*first)?;
            let blocks = self.layout.neighbours(*first);
            let s = self.resident.get_mut(segment)?;
            let mut zeros = 0;
            while let Some(address) = addresses.next_if(|address| blocks.contains(address)) {
                let i = (address - blocks.start) as usize;
                let count = s.counts.get_mut(i).filter(|count| **count > 0)?;
                if *count == STICKY {
                    continue;
                }
                *count -= 1;
                if *count == 0 {
                    zeros += 1;
                    set(&mut s.freed, i);
                    freed(address);
                }
            }
            s.zero_counts += zeros;
            self.allocated -= u64::from(zeros);
            self.pinned += u64::from(zeros);
            if !s.dirty {
                s.dirty = true;
                self.dirty.push(segment);
            }
        }
        Some(())
    }

    /// Adds a reference; returns the new count. `None` when the segment is not resident.
    #[inline]
    pub fn increment(&mut self, address: u64) -> Option<u16> {
        let (segment, i) = self.layout.locate(address)?;
        let s = self.resident.get_mut(segment)?;
        let count = &mut s.counts[i];
        if *count == 0 {
            s.zero_counts -= 1;
            self.allocated += 1;
            #[cfg(feature = "mutations")]
            crate::mutations::note_allocated(address);
            if bit(&s.allocatable, i) {
                // Replay names the block itself.
                clear(&mut s.allocatable, i);
                s.available -= 1;
                self.resident_available -= 1;
                self.total_available -= 1;
                if s.available == 0 {
                    self.with_space.remove(&segment);
                }
            }
        }
        *count = count.saturating_add(1);
        let now = *count;
        if !s.dirty {
            s.dirty = true;
            self.dirty.push(segment);
        }
        Some(now)
    }

    /// Removes a reference; returns the new count. `None` when the segment is not resident or the count was zero.
    #[inline]
    pub fn decrement(&mut self, address: u64) -> Option<u16> {
        let (segment, i) = self.layout.locate(address)?;
        let s = self.resident.get_mut(segment)?;
        let count = &mut s.counts[i];
        if *count == 0 {
            return None;
        }
        if *count == STICKY {
            return Some(STICKY);
        }
        *count -= 1;
        let now = *count;
        if now == 0 {
            s.zero_counts += 1;
            self.allocated -= 1;
            if leaves_out(Mutation::Pin) {
                set(&mut s.allocatable, i);
                s.available += 1;
                self.resident_available += 1;
                self.total_available += 1;
                self.with_space.insert(segment);
            } else {
                set(&mut s.freed, i);
                self.pinned += 1;
            }
        }
        if !s.dirty {
            s.dirty = true;
            self.dirty.push(segment);
        }
        Some(now)
    }

    /// Forbids allocation of a block that a record not yet replayed names.
    pub fn forbid(&mut self, address: u64) {
        let Some((segment, i)) = self.layout.locate(address) else { return };
        set(self.future.entry(segment).or_insert_with(|| Box::new([0; WORDS])), i);
        if let Some(s) = self.resident.get_mut(segment)
            && bit(&s.allocatable, i)
        {
            clear(&mut s.allocatable, i);
            s.available -= 1;
            self.resident_available -= 1;
            self.total_available -= 1;
            if s.available == 0 {
                self.with_space.remove(&segment);
            }
        }
    }

    /// Ends `forbid` for a block: its record was replayed.
    pub fn permit(&mut self, address: u64) {
        if let Some((segment, i)) = self.layout.locate(address)
            && let Some(bits) = self.future.get_mut(&segment)
        {
            clear(bits, i);
        }
    }

    /// Ends `forbid` for all blocks.
    pub fn permit_all(&mut self) {
        self.future.clear();
    }

    /// The counts of a segment in memory.
    pub fn counts(&self, segment: u32) -> Option<Box<[u16; N]>> {
        Some(self.resident.get(segment)?.counts.clone())
    }

    /// Repair wrote other counts for a segment, none of which is in memory. [`SpaceMap::rebuilt`] follows.
    pub fn replace_entry(&mut self, segment: u32, entry: SlotEntry) {
        if let Some(known) = self.index.get_mut(segment as usize) {
            *known = entry;
            self.stale.insert(segment / ZONE_SEGMENTS as u32);
        }
    }

    /// The index of a zone cannot be read, or something else calls for a new root: the next checkpoint writes it anew.
    pub fn distrust(&mut self, zone: u32) {
        self.stale.insert(zone);
    }

    /// True when the next checkpoint mends something.
    pub fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// All entries are known to be right, and so many blocks are in use.
    pub fn rebuilt(&mut self, allocated: u64) {
        self.allocated = allocated;
        self.recount();
    }

    /// True when the segment's counts are in memory.
    pub fn is_resident(&self, segment: u32) -> bool {
        self.resident.contains(segment)
    }

    /// True when blocks of the segment are in use, as far as index and memory tell.
    pub fn in_use(&self, segment: u32) -> bool {
        let blocks = self.layout.segment_blocks(segment);
        let free = self.resident.get(segment).map_or(self.indexed_free(segment), |s| u64::from(s.zero_counts));
        !self.layout.is_metadata(segment) && free < blocks
    }

    /// True when the block is offered for allocation.
    pub fn is_allocatable(&self, address: u64) -> bool {
        let Some((segment, i)) = self.layout.locate(address) else { return false };
        self.resident.get(segment).is_some_and(|s| bit(&s.allocatable, i))
    }

    /// Number of segments that a freeze would write.
    pub fn dirty_segments(&self) -> usize {
        self.dirty.len()
    }

    /// Freezes the counts as they are: returns what to write, and remembers which blocks the flip releases.
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
            let entry = &mut self.index[segment as usize];
            let slot = entry.next_slot();
            *entry = SlotEntry::new(slot, crc32c(&buffer), s.zero_counts as u16);
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
            let to = self.index.len().min(from + ZONE_SEGMENTS as usize);
            let slot = self.zones[zone as usize].next_slot();
            let (buffer, crc) = index_page(&self.index[from..to]);
            self.zones[zone as usize] = SlotEntry::new(slot, crc, 0);
            writes.push((self.layout.zone_index_block(zone, slot), buffer));
            groups.insert(zone / GROUP_ZONES as u32);
        }
        for group in groups {
            let from = group as usize * GROUP_ZONES as usize;
            let to = self.zones.len().min(from + GROUP_ZONES as usize);
            let slot = self.groups[group as usize].next_slot();
            let (buffer, crc) = index_page(&self.zones[from..to]);
            self.groups[group as usize] = SlotEntry::new(slot, crc, 0);
            writes.push((self.layout.group_index_block(group, slot), buffer));
        }
        self.frozen = segments;
        #[cfg(feature = "mutations")]
        crate::mutations::take_allocated();
        writes
    }

    /// The checkpoint is durable: blocks that were free at its freeze and not allocated since may be allocated.
    ///
    /// With `hold` they stay as they are, and a later call without it releases them.
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

    /// Notes from now on what releases make free, for [`SpaceMap::begin_discard`].
    pub fn track_discards(&mut self) {
        self.discards = Some(VecDeque::new());
    }

    /// A run of free blocks to discard: it cannot be allocated until [`SpaceMap::end_discard`].
    pub fn begin_discard(&mut self) -> Option<(u64, u64)> {
        loop {
            let (address, blocks) = self.discards.as_mut()?.pop_front()?;
            let Some((segment, from)) = self.layout.locate(address) else { continue };
            let Some(s) = self.resident.get_mut(segment) else { continue };
            // Some of it may have been allocated since.
            let free = (from..from + blocks as usize).take_while(|i| bit(&s.allocatable, *i)).count();
            let rest = blocks - free as u64;
            if rest > DISCARD_BLOCKS
                && let Some(discards) = &mut self.discards
            {
                discards.push_back((address + free as u64 + 1, rest - 1));
            }
            if (free as u64) < DISCARD_BLOCKS {
                continue;
            }
            for i in from..from + free {
                clear(&mut s.allocatable, i);
            }
            s.reserved += 1;
            s.available -= free as u32;
            if s.available == 0 {
                self.with_space.remove(&segment);
            }
            self.resident_available -= free as u64;
            self.total_available -= free as u64;
            self.pinned += free as u64;
            return Some((address, free as u64));
        }
    }

    /// The discard of a run ended.
    pub fn end_discard(&mut self, address: u64, blocks: u64) {
        let Some((segment, from)) = self.layout.locate(address) else { return };
        let Some(s) = self.resident.get_mut(segment) else { return };
        for i in from..from + blocks as usize {
            set(&mut s.allocatable, i);
        }
        s.reserved -= 1;
        s.available += blocks as u32;
        self.with_space.insert(segment);
        self.resident_available += blocks;
        self.total_available += blocks;
        self.pinned -= blocks;
    }

    /// The segment that a growth makes longer: a last one that is short and that data can use.
    pub fn short_segment(&self) -> Option<u32> {
        let last = self.layout.segments().checked_sub(1)?;
        (self.layout.segment_blocks(last) < SEGMENT_BLOCKS && !self.layout.is_metadata(last)).then_some(last)
    }

    /// Lets the search for free blocks go on at `segment`.
    #[cfg(test)]
    pub fn start_at(&mut self, segment: u32) {
        self.cursor = segment;
        self.open = [None; 3];
        self.evict(0);
    }

    /// Makes a segment part of the next checkpoint, so that it stays in memory until then. False when it has to be read first.
    pub fn hold(&mut self, segment: u32) -> bool {
        let held = self.resident.contains(segment) || self.materialise(segment);
        self.mark_dirty(segment);
        held
    }

    /// The data area ends at `end` from the next freeze on, which has to follow at once. What is new may be allocated after its release.
    /// `None`, with nothing changed, when the short segment is not held.
    pub fn begin_growth(&mut self, end: u64) -> Option<()> {
        let short = self.short_segment();
        let grown = Layout { end, ..self.layout };
        if let Some(segment) = short {
            let new = self.layout.segment_blocks(segment)..grown.segment_blocks(segment);
            let s = self.resident.get_mut(segment)?;
            // As if they were freed now: a checkpoint that knows of them comes first.
            for i in new.clone() {
                set(&mut s.freed, i as usize);
            }
            s.zero_counts += (new.end - new.start) as u32;
            self.pinned += new.end - new.start;
            self.usable += new.end - new.start;
            self.mark_dirty(segment);
        }
        self.growing = Some(self.layout.segments());
        self.layout = grown;
        self.resident.places.resize(grown.segments() as usize, 0);
        self.index.resize(grown.segments() as usize, SlotEntry::default());
        self.zones.resize(grown.zones() as usize, SlotEntry::default());
        self.groups.resize(grown.groups() as usize, SlotEntry::default());
        Some(())
    }

    /// The checkpoint that carried a growth is durable.
    pub fn finish_growth(&mut self) {
        if self.growing.take().is_some() {
            let usable = self.layout.usable_blocks();
            self.total_available += usable - self.usable;
            self.usable = usable;
        }
    }

    /// Blocks that data and map pages can use, allocated or not.
    pub fn usable(&self) -> u64 {
        self.usable
    }

    /// Drops clean segments from memory until at most `limit` remain, least recently used first.
    pub fn evict(&mut self, limit: usize) {
        let mut chances = self.clock.len() * 2;
        while self.resident.len() > limit && chances > 0 {
            chances -= 1;
            let Some(segment) = self.clock.pop_front() else { return };
            let open = self.open.iter().flatten().any(|(o, _)| *o == segment);
            let Some(s) = self.resident.get_mut(segment) else { continue };
            let busy = s.dirty || s.flushing || self.held.contains(&segment) || s.reserved > 0 || open;
            // A segment that a replay has masked, or that was never written, cannot be told from its index entry.
            let unknown = self.index[segment as usize].slot().is_none() || self.future.contains_key(&segment);
            if busy || s.referenced || unknown {
                s.referenced = false;
                self.clock.push_back(segment);
                continue;
            }
            self.resident_available -= u64::from(s.available);
            self.total_available -= u64::from(s.available);
            self.with_space.remove(&segment);
            self.resident.remove(segment);
            self.total_available += self.indexed_free(segment);
        }
    }
}

#[cfg(feature = "mutations")]
impl SpaceMap {
    /// What a flip without the release rule does: moves blocks freed since the freeze to those that it releases.
    fn release_too_much(&mut self) {
        let unnamed = crate::mutations::take_allocated();
        let named = leaves_out(Mutation::ReleaseNamed);
        if !named && !leaves_out(Mutation::ReleaseUnnamed) {
            return;
        }
        for segment in self.dirty.clone() {
            let start = self.layout.segment_start(segment);
            let Some(s) = self.resident.get_mut(segment) else { continue };
            for i in 0..N {
                if bit(&s.freed, i) && s.counts[i] == 0 && named != unnamed.contains(&(start + i as u64)) {
                    clear(&mut s.freed, i);
                    set(&mut s.frozen, i);
                }
            }
            if !self.frozen.contains(&segment) {
                self.frozen.push(segment);
            }
        }
    }
}

/// Notes the long runs in `released`, whose first block is `start`.
fn note_runs(discards: &mut VecDeque<(u64, u64)>, released: &Bits, start: u64) {
    let mut from = 0;
    while let Some((at, run)) = next_run(released, from, N) {
        if run as u64 >= DISCARD_BLOCKS && discards.len() < DISCARDS_NOTED {
            discards.push_back((start + at as u64, run as u64));
        }
        from = at + run;
    }
}

/// Entries of so many segments that were never written, in memory that is not touched.
pub fn unwritten(segments: u32) -> Vec<SlotEntry> {
    let segments = segments as usize;
    <SlotEntry as zerocopy::FromZeros>::new_vec_zeroed(segments)
        .unwrap_or_else(|_| vec![SlotEntry::default(); segments])
}

fn index_page(entries: &[SlotEntry]) -> (Buffer, u32) {
    let mut buffer = Buffer::zeroed(1);
    let bytes = entries.as_bytes();
    buffer[..bytes.len()].copy_from_slice(bytes);
    let crc = crc32c(&buffer);
    (buffer, crc)
}

/// First run of set bits at or after `from`, at most `want` long.
fn next_run(bits: &Bits, from: usize, want: usize) -> Option<(usize, usize)> {
    let mut word = from / 64;
    if word >= WORDS {
        return None;
    }
    let mut current = bits[word] & (!0u64 << (from % 64));
    while current == 0 {
        word += 1;
        current = *bits.get(word)?;
    }
    let at = word * 64 + current.trailing_zeros() as usize;
    let mut run = 1;
    while run < want && at + run < N && bit(bits, at + run) {
        run += 1;
    }
    Some((at, run))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> SpaceMap {
        SpaceMap::new(Layout { start: 2048, end: 2048 * 5 })
    }

    #[test]
    fn a_freed_block_waits_for_its_checkpoint() {
        let mut map = map();
        assert!(map.prepare(10, &mut Vec::new()));
        let total = map.available();
        let a = map.allocate(Stream::Small).unwrap_or(0);
        assert_eq!(map.increment(a), Some(1));
        assert_eq!(map.decrement(a), Some(0));
        assert_eq!((map.available(), map.pinned()), (total - 1, 1));
        map.freeze();
        let b = map.allocate(Stream::Small).unwrap_or(0);
        assert_ne!(a, b);
        map.increment(b);
        map.decrement(b); // allocated and freed during the flight: waits for the next one
        map.release(false);
        assert_eq!((map.available(), map.pinned()), (total - 1, 1));
        map.freeze();
        map.release(false);
        assert_eq!((map.available(), map.pinned()), (total, 0));
    }

    #[test]
    fn runs_are_contiguous() {
        let mut map = map();
        assert!(map.prepare(100, &mut Vec::new()));
        let (a, n) = map.allocate_run(Stream::Large, 100).unwrap_or((0, 0));
        assert_eq!(n, 100);
        let (b, _) = map.allocate_run(Stream::Large, 1).unwrap_or((0, 0));
        assert_eq!(b, a + 100);
    }

    #[test]
    fn forbidden_blocks_are_not_allocated() {
        let mut map = map();
        for i in 0..2048 {
            map.forbid(2048 * 2 + i);
        }
        assert!(map.prepare(100, &mut Vec::new()));
        for _ in 0..2048 {
            let a = map.allocate(Stream::Small).unwrap_or(0);
            assert!(a >= 2048 * 3);
        }
    }
}
