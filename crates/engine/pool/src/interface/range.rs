//! Ranges of an object, in bytes or in blocks of 4 KiB.

use media::BLOCK_BYTES;
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Number of a 4 KiB block of an object, counted from the start of the object.
///
/// A number plus a number of blocks is a block; the difference of two blocks is a number of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct BlockNumber(u64);

impl BlockNumber {
    /// First block of an object.
    pub const FIRST: Self = Self(0);

    /// Block with this number.
    #[inline]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Number of the block.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Block that has the byte at `offset` of the object.
    #[inline]
    pub const fn of_byte(offset: u64) -> Self {
        Self(offset / BLOCK_BYTES as u64)
    }

    /// Offset of the block within the object in bytes.
    #[inline]
    pub const fn offset(self) -> u64 {
        self.0 * BLOCK_BYTES as u64
    }

    /// Block `count` blocks further on; `None` above the largest number.
    pub const fn checked_add(self, count: u64) -> Option<Self> {
        match self.0.checked_add(count) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// This block and all after it, in order.
    pub(crate) fn onwards(self) -> impl Iterator<Item = Self> {
        (self.0..).map(Self)
    }

    /// Block that is `distance` blocks away; a distance to an earlier block is negative and has
    /// wrapped around.
    #[inline]
    pub(crate) const fn at_distance(self, distance: u64) -> Self {
        Self(self.0.wrapping_add(distance))
    }

    /// Distance from `other` to this block, for [`Self::at_distance`].
    #[inline]
    pub(crate) const fn distance_from(self, other: Self) -> u64 {
        self.0.wrapping_sub(other.0)
    }
}

impl Add<u64> for BlockNumber {
    type Output = Self;

    #[inline]
    fn add(self, count: u64) -> Self {
        Self(self.0 + count)
    }
}

impl AddAssign<u64> for BlockNumber {
    #[inline]
    fn add_assign(&mut self, count: u64) {
        self.0 += count;
    }
}

impl Sub for BlockNumber {
    type Output = u64;

    #[inline]
    fn sub(self, start: Self) -> u64 {
        self.0 - start.0
    }
}

impl fmt::Display for BlockNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Range of bytes of an object. Ranges are ordered by their start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteRange {
    /// First byte, counted from the start of the object.
    pub offset: u64,
    /// Number of bytes; 0 for an empty range.
    pub length: u64,
}

/// Range of 4 KiB blocks of an object. Ranges are ordered by their start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockRange {
    /// First block.
    pub first: BlockNumber,
    /// Number of blocks; 0 for an empty range.
    pub count: u64,
}

impl ByteRange {
    /// Creates a range.
    pub const fn new(offset: u64, length: u64) -> Self {
        Self { offset, length }
    }
}

impl BlockRange {
    /// Creates a range.
    pub const fn new(first: BlockNumber, count: u64) -> Self {
        Self { first, count }
    }

    /// Bytes of these blocks; numbers above the largest one become the largest one.
    pub(crate) const fn bytes(self) -> ByteRange {
        let bytes = BLOCK_BYTES as u64;
        ByteRange::new(self.first.0.saturating_mul(bytes), self.count.saturating_mul(bytes))
    }
}

/// Range whose start and end are positions of one kind. The end is exclusive.
pub(crate) trait Run: Copy + Ord {
    type Position: Copy + Ord;
    fn start(self) -> Self::Position;
    fn end(self) -> Self::Position;
    fn between(start: Self::Position, end: Self::Position) -> Self;
}

impl Run for ByteRange {
    type Position = u64;
    fn start(self) -> u64 {
        self.offset
    }
    fn end(self) -> u64 {
        self.offset + self.length
    }
    fn between(start: u64, end: u64) -> Self {
        Self::new(start, end - start)
    }
}

impl Run for BlockRange {
    type Position = BlockNumber;
    fn start(self) -> BlockNumber {
        self.first
    }
    fn end(self) -> BlockNumber {
        self.first + self.count
    }
    fn between(start: BlockNumber, end: BlockNumber) -> Self {
        Self::new(start, end - start)
    }
}

/// Returns sorted, non-overlapping, non-adjacent ranges with the same union. No range may end above
/// the largest number.
pub(crate) fn merge<R: Run>(ranges: &[R]) -> Vec<R> {
    let mut sorted: Vec<_> = ranges.iter().copied().filter(|range| range.end() > range.start()).collect();
    sorted.sort_unstable();
    let mut merged: Vec<R> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start() <= last.end() => *last = R::between(last.start(), last.end().max(range.end())),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_and_adjacent_ranges_become_one() {
        let merged = |ranges: &[(u64, u64)]| {
            let ranges: Vec<_> =
                ranges.iter().map(|(first, count)| BlockRange::new(BlockNumber::new(*first), *count)).collect();
            merge(&ranges).into_iter().map(|range| (range.first.get(), range.count)).collect::<Vec<_>>()
        };
        assert_eq!(merged(&[]), []);
        assert_eq!(merged(&[(7, 0)]), []);
        assert_eq!(merged(&[(5, 2), (0, 5)]), [(0, 7)]);
        assert_eq!(merged(&[(0, 9), (2, 3)]), [(0, 9)]);
        assert_eq!(merged(&[(8, 1), (0, 4), (3, 2), (6, 1)]), [(0, 5), (6, 1), (8, 1)]);
    }

    #[test]
    fn bytes_of_blocks_do_not_overflow() {
        assert_eq!(BlockRange::new(BlockNumber::new(3), 2).bytes(), ByteRange::new(12_288, 8192));
        assert_eq!(BlockRange::new(BlockNumber::new(u64::MAX), 2).bytes(), ByteRange::new(u64::MAX, 8192));
    }
}
