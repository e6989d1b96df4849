//! Set of shared blocks and pages that a pass of `Verify` has seen.

use crate::space::layout::SEGMENT_BLOCKS;
use media::BlockAddress;
use rustc_hash::FxHashMap;

/// Number of words in the bitmap of one segment.
const WORDS: usize = (SEGMENT_BLOCKS / 64) as usize;
/// Memory of a segment's bitmap with its table entry, in bytes.
const SEGMENT_BYTES: usize = 320;

/// Bitmaps with a bit for each block of a segment.
#[derive(Default)]
pub(crate) struct Verified(FxHashMap<u64, Box<[u64; WORDS]>>);

impl Verified {
    /// Starts a pass.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// True if the pass meets this block for the first time, as far as `memory_bytes` allow to
    /// remember.
    pub fn first(&mut self, address: BlockAddress, memory_bytes: usize) -> bool {
        if self.0.len() > (memory_bytes / SEGMENT_BYTES).max(16) {
            self.0.clear();
        }
        let number = address.get();
        let bits = self.0.entry(number / SEGMENT_BLOCKS).or_insert_with(|| Box::new([0; WORDS]));
        let (word, bit) = ((number % SEGMENT_BLOCKS / 64) as usize, 1 << (number % 64));
        let first = bits[word] & bit == 0;
        bits[word] |= bit;
        first
    }
}
