//! Which shared blocks and pages a pass of `Verify` has seen.

use crate::space::layout::SEGMENT_BLOCKS;
use rustc_hash::FxHashMap;

/// Words of a bitmap of one segment.
const WORDS: usize = (SEGMENT_BLOCKS / 64) as usize;
/// Memory of a segment's bitmap with its place in the table.
const SEGMENT_BYTES: usize = 320;

/// A bit for each block of a segment.
#[derive(Default)]
pub(crate) struct Verified(FxHashMap<u64, Box<[u64; WORDS]>>);

impl Verified {
    /// Begins a pass.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// True when the pass meets this block for the first time, as far as it remembers within `memory_bytes`.
    pub fn first(&mut self, address: u64, memory_bytes: usize) -> bool {
        if self.0.len() > (memory_bytes / SEGMENT_BYTES).max(16) {
            self.0.clear();
        }
        let bits = self.0.entry(address / SEGMENT_BLOCKS).or_insert_with(|| Box::new([0; WORDS]));
        let (word, bit) = ((address % SEGMENT_BLOCKS / 64) as usize, 1 << (address % 64));
        let first = bits[word] & bit == 0;
        bits[word] |= bit;
        first
    }
}
