//! Allocation: which blocks may be allocated, and the search for the next one.

use super::SpaceMap;
use super::discards::FreeRun;
use super::segment::{WORDS, bit, clear, next_run, set};
use crate::space::layout::SEGMENT_BLOCKS;
use media::BlockAddress;

/// Allocatable blocks that planning keeps in memory beyond the request, so that allocation finds a
/// good place.
const MARGIN: u64 = 512;

/// Purpose of an allocation. Each stream fills its own segments, so that large writes stay
/// contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Map pages and catalog.
    Metadata,
    /// Writes whose data is in the log.
    Small,
    /// Writes whose data goes straight to its place.
    Large,
}

impl SpaceMap {
    /// Prepares for `n` allocations: true if memory holds enough allocatable blocks. Otherwise
    /// `need` gets the segments to load first; if it stays empty, the pool does not have that many.
    pub fn prepare(&mut self, n: u64, need: &mut Vec<u32>) -> bool {
        if self.resident_available >= n + MARGIN {
            return true;
        }
        let segments = self.grown_from.unwrap_or_else(|| self.layout.segments());
        let mut coming = 0;
        for threshold in [SEGMENT_BLOCKS / 2, 1] {
            let mut scanned = 0;
            while scanned < segments && self.resident_available + coming < n + MARGIN && need.len() < 16 {
                let segment = self.search.cursor % segments.max(1);
                self.search.cursor = (self.search.cursor + 1) % segments.max(1);
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
            // There are enough blocks; the requested segments would only improve later choices.
            need.clear();
            return true;
        }
        false
    }

    /// Allocates a block. `prepare` must have succeeded; `None` means that it was violated.
    pub fn allocate(&mut self, stream: Stream) -> Option<BlockAddress> {
        self.allocate_run(stream, 1).map(|run| run.address)
    }

    /// Allocates up to `want` consecutive blocks.
    pub fn allocate_run(&mut self, stream: Stream, want: u64) -> Option<FreeRun> {
        let slot = stream as usize;
        loop {
            if let Some((segment, from)) = self.search.open[slot]
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
                    self.search.open[slot] = Some((segment, at + run));
                    let address = self.layout.segment_start(segment) + at as u64;
                    return Some(FreeRun { address, blocks: run as u64 });
                }
                self.search.open[slot] = None;
            }
            let segment = self.choose(slot)?;
            self.search.open[slot] = Some((segment, 0));
        }
    }

    fn choose(&self, slot: usize) -> Option<u32> {
        let taken =
            |s: &u32| self.search.open.iter().enumerate().any(|(i, o)| i != slot && o.is_some_and(|(t, _)| t == *s));
        let roomy = |s: &&u32| self.resident.get(**s).is_some_and(|x| x.available >= MARGIN as u32) && !taken(s);
        self.with_space
            .iter()
            .find(roomy)
            .or_else(|| self.with_space.iter().find(|s| !taken(s)))
            .or_else(|| self.with_space.iter().next())
            .copied()
    }

    /// Marks an allocated block as kept for a write that has not taken effect.
    pub fn reserve(&mut self, address: BlockAddress) {
        if let Some((segment, _)) = self.layout.locate(address)
            && let Some(s) = self.resident.get_mut(segment)
        {
            s.reserved += 1;
        }
    }

    /// Ends `reserve`; with `free` the block is freed (at the next checkpoint).
    pub fn unreserve(&mut self, address: BlockAddress, free: bool) {
        let Some((segment, i)) = self.layout.locate(address) else { return };
        if let Some(s) = self.resident.get_mut(segment) {
            s.reserved -= 1;
        }
        if !free {
            return;
        }
        self.change(segment);
        if let Some(s) = self.resident.get_mut(segment) {
            set(&mut s.freed, i);
            self.pinned += 1;
            self.changes.freed += 1;
        }
    }

    /// Forbids allocation of a block that a record not yet replayed names.
    pub fn forbid(&mut self, address: BlockAddress) {
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

    /// Ends `forbid` for a block that a replayed record puts into use.
    ///
    /// Replay may have freed the block before: a checkpoint that released it in between was lost
    /// again, because the disk acknowledged a flush that it had not carried out. The next
    /// checkpoint must not release the block.
    pub fn put_into_use(&mut self, address: BlockAddress) {
        let Some((segment, i)) = self.layout.locate(address) else { return };
        if let Some(bits) = self.future.get_mut(&segment) {
            clear(bits, i);
        }
        let Some(s) = self.resident.get_mut(segment) else { return };
        for waiting in [&mut s.freed, &mut s.frozen] {
            self.pinned -= u64::from(bit(waiting, i));
            clear(waiting, i);
        }
    }

    /// Ends `forbid` for all blocks.
    pub fn permit_all(&mut self) {
        self.future.clear();
    }

    /// True if the block may be allocated.
    pub fn is_allocatable(&self, address: BlockAddress) -> bool {
        let Some((segment, i)) = self.layout.locate(address) else { return false };
        self.resident.get(segment).is_some_and(|s| bit(&s.allocatable, i))
    }

    /// Continues the search for free blocks at `segment`.
    #[cfg(test)]
    pub fn start_at(&mut self, segment: u32) {
        self.search.cursor = segment;
        self.search.open = [None; 3];
        self.evict(0);
    }
}
