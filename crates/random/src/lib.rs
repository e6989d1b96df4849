//! One deterministic generator for tests, simulators and loads: SplitMix64 (Steele, Lea, Flood, "Fast splittable
//! pseudorandom number generators", 2014). The sequence of a seed is part of the interface: it is the same on every
//! machine and in every version, so that a seed repeats a run. Not for secrets.
#![forbid(unsafe_code)]

pub mod sector;

use std::cell::Cell;

/// Increment of the state: 2^64 divided by the golden ratio, odd.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator. Its state is in a cell, so that a shared reference can draw.
#[derive(Clone, Debug)]
pub struct Random(Cell<u64>);

impl Random {
    /// A generator from a seed. Seeds that are close have sequences that are not.
    pub const fn new(seed: u64) -> Self {
        Self(Cell::new(mix(seed.wrapping_add(INCREMENT))))
    }

    /// The next 64 bits.
    pub fn next(&self) -> u64 {
        let state = self.0.get().wrapping_add(INCREMENT);
        self.0.set(state);
        mix(state)
    }

    /// A number below `bound`; 0 when that is 0.
    pub fn below(&self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// An index into something of `length` elements; 0 when there are none.
    pub fn index(&self, length: usize) -> usize {
        let bound = u64::try_from(length).unwrap_or(u64::MAX);
        usize::try_from(self.below(bound)).unwrap_or(0)
    }

    /// True in `percent` of all calls.
    pub fn chance(&self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A byte.
    pub fn byte(&self) -> u8 {
        self.next().to_be_bytes()[0]
    }

    /// Fills a buffer.
    pub fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            chunk.iter_mut().zip(word).for_each(|(to, from)| *to = from);
        }
    }

    /// Brings a list into random order.
    pub fn shuffle<T>(&self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.index(last + 1));
        }
    }
}

/// The finaliser of SplitMix64: a bijection that looks random. 0 stays 0.
pub const fn mix(mut value: u64) -> u64 {
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// One number from two, which look independent of it.
pub const fn combine(one: u64, other: u64) -> u64 {
    mix((one ^ mix(other.wrapping_add(INCREMENT))).wrapping_add(INCREMENT))
}

/// Bytes in which no 64-bit word is zero or occurs twice; other seeds give other words. `length_bytes` is a multiple
/// of 8.
pub fn pattern(seed: u64, length_bytes: u64) -> Vec<u8> {
    let first = mix(seed);
    // An odd factor keeps words apart, and the last bit keeps them from zero.
    let mut bytes = Vec::with_capacity(length_bytes as usize);
    for word in 0..length_bytes / 8 {
        bytes.extend_from_slice(&(first.wrapping_add(word).wrapping_mul(INCREMENT) | 1).to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the reference implementation from state 0.
    #[test]
    fn it_is_split_mix() {
        let reference = Random(Cell::new(0));
        assert_eq!([reference.next(), reference.next()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
        assert_eq!(mix(0), 0);
    }

    /// Seeds are written down in tests and reports.
    #[test]
    fn the_sequence_of_a_seed_never_changes() {
        let numbers = |seed| {
            let random = Random::new(seed);
            (0..3).map(|_| random.next()).collect::<Vec<_>>()
        };
        assert_eq!(numbers(0), [0xa706_dd2f_4d19_7e6f, 0xb382_a305_f441_4f5e, 0x631a_9154_fbab_f717]);
        assert_eq!(numbers(1), [0x5e41_ab08_7439_611e, 0xf18d_6ce9_3d6c_f1ee, 0x0b95_f66d_327e_8d78]);
    }

    #[test]
    fn numbers_stay_in_their_range_and_reach_all_of_it() {
        let random = Random::new(7);
        let mut seen = [0; 5];
        for _ in 0..1000 {
            seen[random.index(5)] += 1;
        }
        assert!(seen.iter().all(|count| (150..250).contains(count)), "{seen:?}");
        assert_eq!((random.below(0), random.index(0), random.chance(0), random.chance(100)), (0, 0, false, true));
        let mut list: Vec<u8> = (0..=255).collect();
        random.shuffle(&mut list);
        assert!(!list.is_sorted());
        list.sort_unstable();
        assert_eq!(list, (0..=255).collect::<Vec<_>>());
        let mut bytes = [0; 11];
        random.fill(&mut bytes);
        assert_ne!(bytes[8..], [0; 3]);
    }

    #[test]
    fn a_pattern_has_no_zeros_and_does_not_repeat() {
        let mut words: Vec<[u8; 8]> = Vec::new();
        for seed in 0..4 {
            words.extend(pattern(seed, 4096).chunks(8).map(|word| <[u8; 8]>::try_from(word).expect("whole words")));
        }
        assert!(!words.contains(&[0; 8]));
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 4 * 512);
    }
}
