//! Locked ranges of one file: sorted intervals, which split and merge as in POSIX (RFC 8881 §9.4).

use nfs::v4::Status;

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

/// Ranges of all owners by first byte. Those of one owner do not overlap.
#[derive(Debug, Default)]
pub(super) struct Ranges(Vec<Range>);

impl Ranges {
    pub(super) fn len(&self) -> u32 {
        // Fewer than the limit, which has 32 bits.
        self.0.len() as u32
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Range> {
        self.0.iter()
    }

    /// Ranges that keep an owner from locking an extent.
    pub(super) fn conflicts(
        &self,
        extent: Extent,
        exclusive: bool,
        owner: Option<Key>,
    ) -> impl Iterator<Item = &Range> {
        self.0.iter().take_while(move |range| range.extent.first <= extent.last).filter(move |range| {
            Some(range.owner) != owner && (exclusive || range.exclusive) && range.extent.overlaps(extent)
        })
    }

    pub(super) fn holds(&self, state: Key) -> bool {
        self.0.iter().any(|range| range.state == state)
    }

    /// Locks an extent, in place of what the owner has there. There must be no conflict.
    pub(super) fn lock(&mut self, new: Range) {
        let mut merged = new;
        self.0.retain(|range| {
            let joins = range.owner == new.owner
                && range.state == new.state
                && range.exclusive == new.exclusive
                && range.extent.joins(new.extent);
            if joins {
                merged.extent.first = merged.extent.first.min(range.extent.first);
                merged.extent.last = merged.extent.last.max(range.extent.last);
            }
            !joins
        });
        self.unlock(new.extent, new.owner);
        self.insert(merged);
    }

    /// Unlocks an extent of an owner.
    pub(super) fn unlock(&mut self, extent: Extent, owner: Key) {
        let mut rests = Vec::new();
        self.0.retain_mut(|range| {
            if range.owner != owner || !range.extent.overlaps(extent) {
                return true;
            }
            let whole = range.extent;
            let after = (whole.last > extent.last).then(|| Extent { first: extent.last + 1, last: whole.last });
            if whole.first < extent.first {
                range.extent.last = extent.first - 1;
                rests.extend(after.map(|extent| Range { extent, ..*range }));
                return true;
            }
            rests.extend(after.map(|extent| Range { extent, ..*range }));
            false
        });
        rests.into_iter().for_each(|rest| self.insert(rest));
    }

    /// Unlocks all of a stateid.
    pub(super) fn remove(&mut self, state: Key) {
        self.0.retain(|range| range.state != state);
    }

    fn insert(&mut self, range: Range) {
        let at = self.0.partition_point(|other| other.extent.first <= range.extent.first);
        self.0.insert(at, range);
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
