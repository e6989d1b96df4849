//! Reference counts: the number of pointers to each block.

use super::segment::{N, bit, clear, set};
use super::{STICKY, SpaceMap};
use crate::mutations::{Mutation, leaves_out};
use media::BlockAddress;

impl SpaceMap {
    /// Count of a block whose segment is resident.
    #[inline]
    pub fn count(&self, address: BlockAddress) -> Option<u16> {
        let (segment, i) = self.layout.locate(address)?;
        Some(self.resident.get(segment)?.counts[i])
    }

    /// True for a block that exactly one entry maps, if its segment is resident.
    #[inline]
    pub fn is_unshared(&self, address: BlockAddress) -> bool {
        !address.is_none() && self.count(address) == Some(1)
    }

    /// Counts of a segment in memory.
    pub fn counts(&self, segment: u32) -> Option<Box<[u16; N]>> {
        Some(self.resident.get(segment)?.counts.clone())
    }

    /// Adds a reference to each nonzero address in `addresses`, all of which must have one already.
    /// `None` if a segment is not resident or a block has no reference.
    pub fn increment_all(&mut self, addresses: impl Iterator<Item = BlockAddress>) -> Option<()> {
        let mut addresses = addresses.filter(|address| !address.is_none()).peekable();
        while let Some(first) = addresses.peek() {
            let (segment, _) = self.layout.locate(*first)?;
            let blocks = self.layout.neighbours(*first);
            let mut s = self.resident.get_mut(segment)?;
            if s.changed != self.generation {
                self.first_change(segment);
                s = self.resident.get_mut(segment)?;
            }
            while let Some(address) = addresses.next_if(|address| blocks.contains(address)) {
                let count = s.counts.get_mut((address - blocks.start) as usize).filter(|count| **count > 0)?;
                *count = count.saturating_add(1);
            }
        }
        Some(())
    }

    /// Removes a reference from each nonzero address in `addresses`; calls `freed` with those that
    /// lost their last one. `None` if a segment is not resident or a block has no reference.
    pub fn decrement_all(
        &mut self,
        addresses: impl Iterator<Item = BlockAddress>,
        mut freed: impl FnMut(BlockAddress),
    ) -> Option<()> {
        let mut addresses = addresses.filter(|address| !address.is_none()).peekable();
        while let Some(first) = addresses.peek() {
            let (segment, _) = self.layout.locate(*first)?;
            let blocks = self.layout.neighbours(*first);
            let mut s = self.resident.get_mut(segment)?;
            if s.changed != self.generation {
                self.first_change(segment);
                s = self.resident.get_mut(segment)?;
            }
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
            self.allocated = self.allocated.saturating_sub(u64::from(zeros));
            self.pinned += u64::from(zeros);
            self.changes.freed += u64::from(zeros);
        }
        Some(())
    }

    /// Adds a reference; returns the new count. `None` if the segment is not resident.
    #[inline]
    pub fn increment(&mut self, address: BlockAddress) -> Option<u16> {
        let (segment, i) = self.layout.locate(address)?;
        let mut s = self.resident.get_mut(segment)?;
        if s.changed != self.generation {
            self.first_change(segment);
            s = self.resident.get_mut(segment)?;
        }
        let count = &mut s.counts[i];
        if *count == 0 {
            s.zero_counts -= 1;
            self.allocated += 1;
            #[cfg(feature = "mutations")]
            crate::mutations::note_allocated(address);
            if bit(&s.allocatable, i) {
                // Replay names a block itself, without allocation.
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
        Some(*count)
    }

    /// Removes a reference; returns the new count. `None` if the segment is not resident or the
    /// count was zero.
    #[inline]
    pub fn decrement(&mut self, address: BlockAddress) -> Option<u16> {
        let (segment, i) = self.layout.locate(address)?;
        let mut s = self.resident.get_mut(segment)?;
        if s.changed != self.generation {
            self.first_change(segment);
            s = self.resident.get_mut(segment)?;
        }
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
            self.allocated = self.allocated.saturating_sub(1);
            if leaves_out(Mutation::Pin) {
                set(&mut s.allocatable, i);
                s.available += 1;
                self.resident_available += 1;
                self.total_available += 1;
                self.with_space.insert(segment);
            } else {
                set(&mut s.freed, i);
                self.pinned += 1;
                self.changes.freed += 1;
            }
        }
        Some(now)
    }
}
