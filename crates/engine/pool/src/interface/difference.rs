//! Difference of two objects: where the content of one may be other than that of another.

use crate::interface::BlockId;
use crate::interface::range::{BlockNumber, BlockRange};

/// Difference in progress. Valid until it is ended, in this run of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DifferenceId(pub(crate) u64);

/// Result of one step of a difference. It covers all blocks from the start of the step up to `next`; those in
/// no run have the same content in both objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DifferenceStep {
    /// Ranges of blocks whose content may differ, in ascending order; none overlap.
    pub runs: Vec<ChangedRun>,
    /// Shared sub-trees whose first block this step reached, in the order of their first blocks; of several with the
    /// same first block, the largest is first. Only the parts in `runs` differ from the base.
    pub shared_trees: Vec<SharedTree>,
    /// Start of the next step; `None` at the end of the new object.
    pub next: Option<BlockNumber>,
}

/// Range of blocks that may differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRun {
    /// First block.
    pub first: BlockNumber,
    /// New content.
    pub content: ChangedContent,
}

/// New content of a range that may differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedContent {
    /// This number of blocks, which are mapped in the base and not in the new object, where they read as zeros.
    Zero(u64),
    /// Blocks that are mapped in the new object, to others than in the base, if any. One for each block of the range.
    Data(Vec<ChangedBlock>),
}

/// Block that is mapped in the new object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedBlock {
    /// Block that stores the content. As long as the difference goes on, places of the new object that name the same
    /// block have the same content; so do those of other snapshots that exist all the while.
    pub block: BlockId,
    /// CRC-32C of the 4 096 bytes. Equal checksums do not prove equal content.
    pub crc: u32,
    /// True if several map pages name the block, or if their number is not known. A block whose map page is shared
    /// ([`SharedTree`]) may be named by one map page only.
    pub is_shared: bool,
}

/// Sub-tree of the new object's map that has several parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedTree {
    /// Block of its topmost page. As long as the difference goes on, places of the new object with the same page at the
    /// same level have the same content; so do those of other snapshots that exist all the while.
    pub page: BlockId,
    /// Level of that page; 0 is a leaf, which spans 256 blocks.
    pub level: u8,
    /// Blocks that it spans. They may reach beyond the end of the object.
    pub range: BlockRange,
}

impl ChangedRun {
    /// Blocks of the run.
    pub fn range(&self) -> BlockRange {
        let count = match &self.content {
            ChangedContent::Zero(count) => *count,
            ChangedContent::Data(blocks) => blocks.len() as u64,
        };
        BlockRange::new(self.first, count)
    }
}
