//! Which bytes of a block a transaction has edited.

use media::BLOCK_BYTES;
use smallvec::SmallVec;

/// Most parts that are told apart.
const MOST_PARTS: usize = 8;
/// Most bytes of parts. With more of them the block counts as edited as a whole: they would not take much less space in
/// the log.
const MOST_BYTES: usize = BLOCK_BYTES / 2;
/// Parts with fewer bytes between them are one: a part has a header in the log.
const NEAR: usize = 8;

/// First byte and length of a part.
pub(crate) type Part = (u16, u16);

/// Bytes of a block that may differ from its content in the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edits {
    /// All of them, or too many to be told apart.
    Whole,
    /// These parts, in order and apart from one another.
    Parts(SmallVec<[Part; 4]>),
}

impl Edits {
    /// No byte.
    pub fn none() -> Self {
        Self::Parts(SmallVec::new())
    }

    /// Adds a range of bytes, which lies in the block.
    pub fn add(&mut self, first: usize, bytes: usize) {
        let Self::Parts(parts) = self else { return };
        if bytes == 0 {
            return;
        }
        let (mut from, mut to) = (first, first + bytes);
        let ends = |&(first, bytes): &Part| (usize::from(first), usize::from(first) + usize::from(bytes));
        let begin = parts.iter().take_while(|part| ends(part).1 + NEAR < from).count();
        let count = parts[begin..].iter().take_while(|part| ends(part).0 < to + NEAR).count();
        for part in &parts[begin..begin + count] {
            from = from.min(ends(part).0);
            to = to.max(ends(part).1);
        }
        parts.drain(begin..begin + count);
        parts.insert(begin, (from as u16, (to - from) as u16));
        let edited: usize = parts.iter().map(|(_, bytes)| usize::from(*bytes)).sum();
        if parts.len() > MOST_PARTS || edited > MOST_BYTES {
            *self = Self::Whole;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use random::Random;

    fn parts(ranges: &[(usize, usize)]) -> Edits {
        let mut edits = Edits::none();
        for (first, bytes) in ranges {
            edits.add(*first, *bytes);
        }
        edits
    }

    #[test]
    fn parts_that_meet_or_are_near_are_one() {
        let of = |list: &[Part]| Edits::Parts(list.iter().copied().collect());
        assert_eq!(parts(&[(100, 4), (200, 4), (0, 1)]), of(&[(0, 1), (100, 4), (200, 4)]));
        assert_eq!(parts(&[(100, 4), (104, 4)]), of(&[(100, 8)]));
        assert_eq!(parts(&[(104, 4), (100, 4)]), of(&[(100, 8)]));
        assert_eq!(parts(&[(100, 4), (110, 4)]), of(&[(100, 14)]));
        assert_eq!(parts(&[(100, 4), (200, 4), (101, 150)]), of(&[(100, 151)]));
        assert_eq!(parts(&[(100, 40), (110, 3)]), of(&[(100, 40)]));
        assert_eq!(parts(&[(4095, 1), (0, 0)]), of(&[(4095, 1)]));
    }

    #[test]
    fn many_parts_and_many_bytes_are_the_whole_block() {
        let many: Vec<(usize, usize)> = (0..9).map(|at| (at * 100, 1)).collect();
        assert_ne!(parts(&many[..8]), Edits::Whole);
        assert_eq!(parts(&many), Edits::Whole);
        assert_ne!(parts(&[(5, 2048)]), Edits::Whole);
        assert_eq!(parts(&[(5, 2049)]), Edits::Whole);
    }

    #[test]
    fn every_edited_byte_is_in_a_part() {
        let random = Random::new(7);
        for _ in 0..2000 {
            let mut edits = Edits::none();
            let mut edited = [false; BLOCK_BYTES];
            for _ in 0..random.below(12) {
                let first = random.below(BLOCK_BYTES as u64) as usize;
                let bytes = random.below(100.min(BLOCK_BYTES - first) as u64 + 1) as usize;
                edits.add(first, bytes);
                edited[first..first + bytes].fill(true);
            }
            let Edits::Parts(parts) = &edits else { continue };
            for &(first, bytes) in parts {
                edited[usize::from(first)..usize::from(first + bytes)].fill(false);
            }
            assert!(!edited.contains(&true), "{edits:?}");
            assert!(parts.windows(2).all(|two| two[0].0 + two[0].1 < two[1].0), "{edits:?}");
        }
    }
}
