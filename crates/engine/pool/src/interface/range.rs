//! Ranges of an object, in bytes or in blocks of 4 KiB.

use media::BLOCK_BYTES;

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
    /// First block, counted from the start of the object.
    pub first: u64,
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
    pub const fn new(first: u64, count: u64) -> Self {
        Self { first, count }
    }

    /// Bytes of these blocks; numbers above the largest one become the largest one.
    pub(crate) const fn bytes(self) -> ByteRange {
        let bytes = BLOCK_BYTES as u64;
        ByteRange::new(self.first.saturating_mul(bytes), self.count.saturating_mul(bytes))
    }
}

/// Range whose start and end are numbers of one unit. The end is exclusive.
pub(crate) trait Run: Copy + Ord {
    fn start(self) -> u64;
    fn end(self) -> u64;
    fn between(start: u64, end: u64) -> Self;
}

impl Run for ByteRange {
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
    fn start(self) -> u64 {
        self.first
    }
    fn end(self) -> u64 {
        self.first + self.count
    }
    fn between(start: u64, end: u64) -> Self {
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
            let ranges: Vec<_> = ranges.iter().map(|(first, count)| BlockRange::new(*first, *count)).collect();
            merge(&ranges).into_iter().map(|range| (range.first, range.count)).collect::<Vec<_>>()
        };
        assert_eq!(merged(&[]), []);
        assert_eq!(merged(&[(7, 0)]), []);
        assert_eq!(merged(&[(5, 2), (0, 5)]), [(0, 7)]);
        assert_eq!(merged(&[(0, 9), (2, 3)]), [(0, 9)]);
        assert_eq!(merged(&[(8, 1), (0, 4), (3, 2), (6, 1)]), [(0, 5), (6, 1), (8, 1)]);
    }

    #[test]
    fn bytes_of_blocks_do_not_overflow() {
        assert_eq!(BlockRange::new(3, 2).bytes(), ByteRange::new(12_288, 8192));
        assert_eq!(BlockRange::new(u64::MAX, 2).bytes(), ByteRange::new(u64::MAX, 8192));
    }
}
