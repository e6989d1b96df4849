//! One allotment: a range of blocks of an address space for which space is promised.

use crate::catalog::objects::Missed;
use crate::geometry::{MAX_LEVEL, PATH_PAGES};
use crate::interface::range::{BlockNumber, BlockRange};

/// Largest number of allotments in a pool.
pub(crate) const MOST_ALLOTMENTS: usize = 1 << 16;

/// Blocks beside an allotment that the first write into it may have to copy after all of its object was
/// shared: the block that describes the range for the owner of the object, and the map pages above it.
const BLOCKS_BESIDE: u64 = 1 + PATH_PAGES as u64;

/// What is known of an allotment. Its first block is its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allotment {
    /// Number of blocks.
    pub count: u64,
    /// Number of these that are mapped.
    pub mapped: u64,
    /// Upper bound of the mapped blocks that other places may use too.
    pub shared: u64,
    /// Upper bound of the map pages to be allocated when the whole range is written.
    pub pages_due: u64,
    /// Blocks beside the range that the next write into it may have to copy.
    pub beside: u64,
    /// Number of due blocks without a promise: snapshots of an object with an overwrite reserve below 100 % leave
    /// them.
    pub unpromised: u64,
    /// Slot in the stored table.
    pub slot: u32,
}

impl Allotment {
    /// Allotment of a range of which nothing is known but the number of mapped blocks.
    pub fn new(range: BlockRange, mapped: u64) -> Self {
        Self { count: range.count, mapped, shared: mapped, pages_due: pages_of(range), ..Self::default() }
    }

    /// Blocks that must be kept free: one for each block that is unmapped or shared, and those that may be
    /// due besides.
    pub fn promised(&self) -> u64 {
        self.blocks_promised() + self.pages_promised()
    }

    /// Blocks for map pages for which there is a promise.
    pub fn pages_promised(&self) -> u64 {
        self.pages_due + self.beside
    }

    /// Blocks of the range for which there is a promise.
    pub fn blocks_promised(&self) -> u64 {
        self.blocks_due().saturating_sub(self.unpromised)
    }

    /// Blocks of the range that are unmapped or, at most, shared.
    pub fn blocks_due(&self) -> u64 {
        self.count.saturating_sub(self.mapped) + self.shared
    }

    /// Accounts for entries of the map that changed: `mapped` more blocks are mapped, and of the mapped ones
    /// `shared` more are shared.
    pub fn change(&mut self, mapped: i64, shared: i64) {
        self.mapped = self.mapped.saturating_add_signed(mapped).min(self.count);
        self.shared = self.shared.saturating_add_signed(shared).min(self.mapped);
        self.unpromised = self.unpromised.min(self.blocks_due());
    }

    /// Adds blocks and pages that may be due, up to those of the whole range `of`; returns them.
    pub fn raise(&mut self, of: BlockRange, blocks: u64, pages: u64) -> Missed {
        self.shared = self.shared.saturating_add(blocks).min(self.mapped);
        self.pages_due = self.pages_due.saturating_add(pages).min(pages_of(of));
        Missed { blocks, pages }
    }

    /// The allotment after everything of its object was shared; so many percent of what is overwritten then are
    /// promised.
    pub fn all_shared(&self, of: BlockRange, overwrite_percent: u8) -> Self {
        let more = self.mapped.saturating_sub(self.shared);
        let unpromised = self.unpromised + more * u64::from(100 - overwrite_percent.min(100)) / 100;
        Self { shared: self.mapped, pages_due: pages_of(of), beside: BLOCKS_BESIDE, unpromised, ..*self }
    }

    /// Most blocks that the allotment can promise, whatever is mapped and shared.
    pub fn most(of: BlockRange) -> u64 {
        of.count + pages_of(of) + BLOCKS_BESIDE
    }
}

/// Number of map pages of an address space that span blocks of a range.
pub(crate) fn pages_of(range: BlockRange) -> u64 {
    pages_below(range, MAX_LEVEL + 1)
}

/// [`pages_of`], of the levels below `level`.
pub(crate) fn pages_below(range: BlockRange, level: u8) -> u64 {
    if range.count == 0 {
        return 0;
    }
    let last = range.first + (range.count - 1);
    (0..level).map(|level| last.page(level) - range.first.page(level) + 1).sum()
}

/// Part of a range that is in another one too; empty if there is none.
pub(crate) fn common(one: BlockRange, other: BlockRange) -> BlockRange {
    let (end, other_end) = (one.first + one.count, other.first + other.count);
    let (first, end) = (one.first.max(other.first), end.min(other_end));
    BlockRange::new(first, end.max(first) - first)
}

/// Range between two blocks, the second one excluded.
pub(crate) fn between(first: BlockNumber, end: BlockNumber) -> BlockRange {
    BlockRange::new(first, end - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u64, count: u64) -> BlockRange {
        BlockRange::new(BlockNumber::new(first), count)
    }

    #[test]
    fn pages_of_a_range_depend_on_its_place() {
        assert_eq!(pages_of(range(0, 256)), 6);
        assert_eq!(pages_of(range(255, 2)), 7);
        assert_eq!(pages_of(range((1 << 40) - 1, 2)), 11);
        assert_eq!((pages_of(range(7, 0)), pages_below(range(0, 257), 1)), (0, 2));
    }

    #[test]
    fn an_overwrite_reserve_leaves_blocks_without_a_promise() {
        let of = range(0, 100);
        let owned = Allotment { shared: 0, pages_due: 0, ..Allotment::new(of, 60) };
        let mut allotment = owned.all_shared(of, 25);
        assert_eq!((allotment.blocks_due(), allotment.blocks_promised(), allotment.unpromised), (100, 55, 45));
        // What becomes unmapped and was shared frees nothing that could be promised.
        allotment.change(-10, -10);
        assert_eq!((allotment.blocks_due(), allotment.blocks_promised()), (100, 55));
        // The promise is for the first blocks that are written.
        allotment.change(50, 0);
        assert_eq!((allotment.blocks_due(), allotment.blocks_promised()), (50, 5));
        allotment.change(0, -50);
        assert_eq!((allotment.blocks_due(), allotment.blocks_promised(), allotment.unpromised), (0, 0, 0));
    }

    #[test]
    fn bounds_never_exceed_the_range() {
        let of = range(10, 100);
        let mut allotment = Allotment::new(of, 30);
        assert_eq!((allotment.blocks_due(), allotment.promised()), (100, 106));
        allotment.change(-10, -30);
        assert_eq!((allotment.mapped, allotment.shared, allotment.blocks_due()), (20, 0, 80));
        allotment.raise(of, 50, 50);
        assert_eq!((allotment.shared, allotment.pages_due), (20, 6));
        assert_eq!(allotment.all_shared(of, 100).promised(), Allotment::most(of));
        assert_eq!(common(of, range(100, 50)), range(100, 10));
        assert_eq!(common(of, range(200, 50)).count, 0);
    }
}
