//! Runs of freed blocks to be discarded on the disk.

use super::SpaceMap;
use super::segment::{Bits, N, bit, clear, next_run, set};
use media::BlockAddress;
use std::collections::VecDeque;

/// Length of the shortest run of free blocks that is discarded: 1 MiB.
const DISCARD_BLOCKS: u64 = 256;
/// Largest number of runs noted; further runs are not discarded.
const DISCARDS_NOTED: usize = 16_384;

/// Consecutive blocks of the pool that are free, or were when the run was returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeRun {
    /// First block of the pool.
    pub address: BlockAddress,
    /// Number of blocks; never 0.
    pub blocks: u64,
}

impl SpaceMap {
    /// Starts to note released runs, for [`SpaceMap::begin_discard`].
    pub fn track_discards(&mut self) {
        self.discards = Some(VecDeque::new());
    }

    /// Takes a run of free blocks to discard: it cannot be allocated until
    /// [`SpaceMap::end_discard`].
    pub fn begin_discard(&mut self) -> Option<FreeRun> {
        loop {
            let FreeRun { address, blocks } = self.discards.as_mut()?.pop_front()?;
            let Some((segment, from)) = self.layout.locate(address) else { continue };
            let Some(s) = self.resident.get_mut(segment) else { continue };
            // Some blocks may have been allocated since.
            let free = (from..from + blocks as usize).take_while(|i| bit(&s.allocatable, *i)).count();
            let rest = blocks - free as u64;
            if rest > DISCARD_BLOCKS
                && let Some(discards) = &mut self.discards
            {
                discards.push_back(FreeRun { address: address + free as u64 + 1, blocks: rest - 1 });
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
            return Some(FreeRun { address, blocks: free as u64 });
        }
    }

    /// Ends the discard of a run.
    pub fn end_discard(&mut self, FreeRun { address, blocks }: FreeRun) {
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
}

/// Notes the long runs in `released`, whose first block is `start`.
pub(super) fn note_runs(discards: &mut VecDeque<FreeRun>, released: &Bits, start: BlockAddress) {
    let mut from = 0;
    while let Some((at, run)) = next_run(released, from, N) {
        if run as u64 >= DISCARD_BLOCKS && discards.len() < DISCARDS_NOTED {
            discards.push_back(FreeRun { address: start + at as u64, blocks: run as u64 });
        }
        from = at + run;
    }
}
