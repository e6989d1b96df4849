//! Where shared blocks and sub-trees were shipped in this cycle, so that they are shipped once.

use crate::mutations::{Mutation, leaves_out};
use crate::place::{Position, Range};
use crate::store::Share;
use rustc_hash::FxHashMap;

/// Most entries: a table of 2²¹ places of 16 bytes is then as full as it gets, 36 MB.
const MAX_ENTRIES: usize = (1 << 21) / 8 * 7;
/// Bits of a block number in a packed position.
const BLOCK_BITS: u32 = 48;

/// Places by identity. What does not fit is shipped again, which costs data and no correctness.
#[derive(Debug, Default)]
pub(super) struct Shipped {
    places: FxHashMap<Share, u64>,
}

impl Shipped {
    /// The place at which something was shipped, if all of it lies before `before`, to which the cycle has come: only
    /// that is final (rule R3). What was shipped beyond it before the link was cut is shipped again.
    pub fn find(&self, share: Share, count: u64, before: Position) -> Option<Position> {
        let packed = *self.places.get(&share)?;
        let member = u16::try_from(packed >> BLOCK_BITS).ok()?;
        let range = Range { start: Position { member, block: packed & ((1 << BLOCK_BITS) - 1) }, count };
        (range.end() <= before || leaves_out(Mutation::Final)).then_some(range.start)
    }

    /// Notes a place; the first one stays.
    pub fn note(&mut self, share: Share, place: Position) {
        if place.block >> BLOCK_BITS == 0 && (self.places.len() < MAX_ENTRIES || self.places.contains_key(&share)) {
            let packed = u64::from(place.member) << BLOCK_BITS | place.block;
            let first = self.places.entry(share).or_insert(packed);
            *first = packed.min(*first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    const fn at(member: u16, block: u64) -> Position {
        Position { member, block }
    }

    #[test]
    fn only_what_is_final_is_found() {
        let share = |number| Share(NonZeroU64::MIN.saturating_add(number));
        let mut shipped = Shipped::default();
        shipped.note(share(1), at(1, 100));
        assert_eq!(shipped.find(share(1), 8, at(1, 107)), None);
        assert_eq!(shipped.find(share(1), 8, at(1, 108)), Some(at(1, 100)));
        assert_eq!(shipped.find(share(2), 8, at(9, 0)), None);
        shipped.note(share(1), at(2, 0));
        assert_eq!(shipped.find(share(1), 8, at(2, 0)), Some(at(1, 100)), "the first place stays");
    }
}
