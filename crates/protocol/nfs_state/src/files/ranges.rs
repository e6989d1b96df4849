//! Locked ranges of one file: sorted intervals, which split and merge as in POSIX (RFC 8881 §9.4).

use std::collections::BTreeMap;

use nfs::v4::Status;

use crate::mutations::{Mutation, leaves_out};
use crate::table::Key;

/// Bytes of a lock: first and last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Extent {
    pub first: u64,
    pub last: u64,
}

impl Extent {
    /// Bytes that a request names; all ones as length stands for all up to the end (RFC 8881 §18.10.3).
    /// `INVAL`: no bytes, or bytes beyond the largest offset.
    pub(crate) fn new(offset_bytes: u64, length_bytes: u64) -> Result<Self, Status> {
        let last = match length_bytes {
            0 => return Err(Status::INVAL),
            u64::MAX => u64::MAX,
            length if length > u64::MAX - offset_bytes => return Err(Status::INVAL),
            length => offset_bytes + (length - 1),
        };
        Ok(Self { first: offset_bytes, last })
    }

    /// Length as in a request.
    pub(crate) const fn length_bytes(self) -> u64 {
        if self.last == u64::MAX { u64::MAX } else { self.last - self.first + 1 }
    }

    const fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Whether two extents are one without a gap.
    const fn joins(self, other: Self) -> bool {
        self.first <= other.last.saturating_add(1) && other.first <= self.last.saturating_add(1)
    }
}

/// A locked range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub extent: Extent,
    /// Whether no other owner may have any lock here.
    pub exclusive: bool,
    /// Owner of the lock.
    pub owner: Key,
    /// Entry of the lock's stateid.
    pub state: Key,
}

/// Ranges of all owners. Those of one owner do not overlap.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    /// By first byte and owner.
    by_first: BTreeMap<(u64, Key), Range>,
    /// Owner, by entry of the stateid and first byte.
    by_state: BTreeMap<(Key, u64), Key>,
}

impl Ranges {
    pub(super) fn len(&self) -> u32 {
        // Fewer than the limit, which has 32 bits.
        self.by_first.len() as u32
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Range> {
        self.by_first.values()
    }

    /// By first byte and owner, from a first byte and the index of an owner on.
    pub(super) fn iter_from(&self, first: u64, owner: u32) -> impl Iterator<Item = &Range> {
        let start = (first, Key { index: owner, generation: 0 });
        self.by_first.range(start..).map(|(_, range)| range)
    }

    /// Ranges that keep an owner from locking an extent.
    pub(super) fn conflicts(
        &self,
        extent: Extent,
        exclusive: bool,
        owner: Option<Key>,
    ) -> impl Iterator<Item = &Range> {
        self.overlapping(extent).filter(move |range| Some(range.owner) != owner && (exclusive || range.exclusive))
    }

    /// Ranges of all owners that have a byte of an extent.
    fn overlapping(&self, extent: Extent) -> impl Iterator<Item = &Range> {
        let before_its_end = self.by_first.range(..=(extent.last, Key::MAX)).map(|(_, range)| range);
        before_its_end.filter(move |range| range.extent.overlaps(extent))
    }

    pub(super) fn holds(&self, state: Key) -> bool {
        self.of_state(state).next().is_some()
    }

    /// First byte and owner of the ranges of a stateid.
    fn of_state(&self, state: Key) -> impl Iterator<Item = (u64, Key)> {
        self.by_state.range((state, 0)..=(state, u64::MAX)).map(|((_, first), owner)| (*first, *owner))
    }

    /// Locks an extent, in place of what the owner has there. There must be no conflict.
    pub(super) fn lock(&mut self, new: Range) {
        let mut merged = new;
        let of_state = self.of_state(new.state).filter_map(|place| self.by_first.get(&place));
        let joined: Vec<Range> = of_state
            .filter(|range| range.exclusive == new.exclusive && range.extent.joins(new.extent))
            .copied()
            .collect();
        for range in joined {
            merged.extent.first = merged.extent.first.min(range.extent.first);
            if !leaves_out(Mutation::LockMerge) {
                merged.extent.last = merged.extent.last.max(range.extent.last);
            }
            self.take(&range);
        }
        self.unlock(new.extent, new.owner);
        self.insert(merged);
    }

    /// Unlocks an extent of an owner.
    pub(super) fn unlock(&mut self, extent: Extent, owner: Key) {
        let hit: Vec<Range> = self.overlapping(extent).filter(|range| range.owner == owner).copied().collect();
        for range in hit {
            self.take(&range);
            let Extent { first, last } = range.extent;
            if first < extent.first {
                self.insert(Range { extent: Extent { first, last: extent.first - 1 }, ..range });
            }
            if last > extent.last && !leaves_out(Mutation::LockSplit) {
                self.insert(Range { extent: Extent { first: extent.last + 1, last }, ..range });
            }
        }
    }

    /// Whether an unlock leaves two ranges of one.
    pub(super) fn splits(&self, extent: Extent, owner: Key) -> bool {
        let mut own = self.overlapping(extent).filter(|range| range.owner == owner);
        own.any(|range| range.extent.first < extent.first && range.extent.last > extent.last)
    }

    /// Unlocks all of a stateid.
    pub(super) fn remove(&mut self, state: Key) {
        let places: Vec<(u64, Key)> = self.of_state(state).collect();
        for place in places {
            self.by_first.remove(&place);
            self.by_state.remove(&(state, place.0));
        }
    }

    /// Panics unless both indexes have the same ranges.
    #[cfg(test)]
    pub(super) fn check(&self) {
        assert_eq!(self.by_state.len(), self.by_first.len());
        for range in self.iter() {
            assert_eq!(self.by_state.get(&(range.state, range.extent.first)), Some(&range.owner));
        }
    }

    fn insert(&mut self, range: Range) {
        self.by_first.insert((range.extent.first, range.owner), range);
        self.by_state.insert((range.state, range.extent.first), range.owner);
    }

    fn take(&mut self, range: &Range) {
        self.by_first.remove(&(range.extent.first, range.owner));
        self.by_state.remove(&(range.state, range.extent.first));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(index: u32) -> Key {
        Key { index, generation: 1 }
    }

    fn range(owner: u32, first: u64, last: u64, exclusive: bool) -> Range {
        Range { extent: Extent { first, last }, exclusive, owner: key(owner), state: key(owner + 100) }
    }

    fn shown(ranges: &Ranges) -> Vec<(u32, u64, u64, bool)> {
        ranges.iter().map(|r| (r.owner.index, r.extent.first, r.extent.last, r.exclusive)).collect()
    }

    #[test]
    fn extents_follow_the_rules_for_offset_and_length() {
        let extent = |offset, length| Extent::new(offset, length).map(|extent| (extent.first, extent.last));
        assert_eq!(extent(0, 0), Err(Status::INVAL));
        assert_eq!(extent(5, 1), Ok((5, 5)));
        assert_eq!(extent(7, u64::MAX), Ok((7, u64::MAX)));
        assert_eq!(extent(u64::MAX, u64::MAX), Ok((u64::MAX, u64::MAX)));
        assert_eq!(extent(10, u64::MAX - 10), Ok((10, u64::MAX - 1)));
        assert_eq!(extent(11, u64::MAX - 10), Err(Status::INVAL));
        assert_eq!(extent(u64::MAX, 1), Err(Status::INVAL));
        assert_eq!(Extent { first: 3, last: u64::MAX }.length_bytes(), u64::MAX);
        assert_eq!(Extent { first: 3, last: 9 }.length_bytes(), 7);
    }

    #[test]
    fn own_locks_merge_split_and_change_their_kind() {
        let mut ranges = Ranges::default();
        ranges.lock(range(1, 0, 9, true));
        ranges.lock(range(1, 20, 29, true));
        ranges.lock(range(1, 10, 19, true));
        assert_eq!(shown(&ranges), [(1, 0, 29, true)]);
        ranges.lock(range(1, 5, 6, false));
        assert_eq!(shown(&ranges), [(1, 0, 4, true), (1, 5, 6, false), (1, 7, 29, true)]);
        ranges.lock(range(1, 3, 8, true));
        assert_eq!(shown(&ranges), [(1, 0, 29, true)]);
        ranges.unlock(Extent { first: 10, last: 14 }, key(1));
        assert_eq!(shown(&ranges), [(1, 0, 9, true), (1, 15, 29, true)]);
        ranges.unlock(Extent { first: 0, last: u64::MAX }, key(2));
        assert_eq!(ranges.len(), 2);
        ranges.unlock(Extent { first: 9, last: u64::MAX }, key(1));
        assert_eq!(shown(&ranges), [(1, 0, 8, true)]);
        ranges.lock(range(1, 4, u64::MAX, true));
        assert_eq!(shown(&ranges), [(1, 0, u64::MAX, true)]);
    }

    #[test]
    fn locks_of_two_stateids_of_an_owner_replace_each_other_but_do_not_merge() {
        let mut ranges = Ranges::default();
        ranges.lock(range(1, 0, 9, true));
        ranges.lock(Range { state: key(7), ..range(1, 5, 14, true) });
        assert_eq!(shown(&ranges), [(1, 0, 4, true), (1, 5, 14, true)]);
        assert!(ranges.holds(key(7)));
        ranges.remove(key(7));
        assert_eq!((shown(&ranges), ranges.holds(key(7))), (vec![(1, 0, 4, true)], false));
    }

    #[test]
    fn conflicts_are_those_of_other_owners() {
        let mut ranges = Ranges::default();
        ranges.lock(range(1, 0, 9, false));
        ranges.lock(range(2, 5, 14, false));
        ranges.lock(range(3, 20, 29, true));
        let conflicts = |first, last, exclusive, owner| -> Vec<u32> {
            ranges.conflicts(Extent { first, last }, exclusive, owner).map(|range| range.owner.index).collect()
        };
        assert_eq!(conflicts(0, 15, true, Some(key(1))), [2]);
        assert_eq!(conflicts(0, 15, true, None), [1, 2]);
        assert_eq!(conflicts(0, 19, false, Some(key(4))), [0; 0]);
        assert_eq!(conflicts(9, 20, false, Some(key(4))), [3]);
        assert_eq!(conflicts(30, u64::MAX, true, None), [0; 0]);
    }
}
