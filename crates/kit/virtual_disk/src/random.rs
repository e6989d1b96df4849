//! Numbers that look random, from a seed.

use std::cell::Cell;

/// Xorshift with a multiplication (Vigna's xorshift64*).
#[derive(Debug)]
pub(crate) struct Random(Cell<u64>);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1))
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&self, bound: u64) -> u64 {
        let mut state = self.0.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.0.set(state);
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % bound.max(1)
    }
}
