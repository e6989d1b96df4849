//! Pseudo-random numbers: the same seed gives the same run.

use std::cell::Cell;

/// xorshift64*.
#[derive(Debug)]
pub(crate) struct Random(Cell<u64>);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let random = Self(Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1));
        // Seeds that are close begin alike otherwise.
        for _ in 0..4 {
            random.next();
        }
        random
    }

    pub(crate) fn next(&self) -> u64 {
        let mut state = self.0.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.0.set(state);
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`; 0 when that is 0.
    pub(crate) fn below(&self, bound: u64) -> u64 {
        (self.next() >> 11).checked_rem(bound).unwrap_or(0)
    }
}
