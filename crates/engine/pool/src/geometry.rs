//! Geometry of a map: relation of blocks, entries and pages of each level.
//!
//! An object is counted in blocks of 4 KiB. A page holds 256 entries; an entry of a leaf (level 0) spans one block.

use crate::checksum::Crc32c;
use crate::interface::range::BlockNumber;
use media::{BLOCK_BYTES, BlockAddress};

/// Number of entries in a page.
pub const FANOUT: usize = 256;
/// Level of the root of an address space, the highest.
pub const MAX_LEVEL: u8 = 5;
/// Highest level of a volume's root: of its 4 PiB, 256 TiB are used.
pub const VOLUME_LEVEL: u8 = 4;
/// Highest level of a root that every release reads: 16 TiB. The roots of wide objects are above it, and
/// the counts in the entries of pages above it are rounded up.
pub const NARROW_LEVEL: u8 = 3;
/// Highest level of a page whose entries an operation on a range replaces: it shares and detaches
/// sub-trees of up to 2³² blocks.
pub const RANGE_LEVEL: u8 = NARROW_LEVEL + 1;
/// Number of pages from a root to a leaf, at most.
pub const PATH_PAGES: usize = MAX_LEVEL as usize + 1;
/// Level of the root page of one of the pool's own streams.
pub const STREAM_LEVEL: u8 = 2;
/// Number of blocks that one entry of a page at `level` spans: 1 in a leaf (level 0).
pub const fn entry_span(level: u8) -> u64 {
    1 << (8 * level as u32)
}

/// Number of blocks that a page at `level` spans.
pub const fn page_span(level: u8) -> u64 {
    1 << (8 * (level as u32 + 1))
}

/// Largest number of pages of a volume that map a run of blocks, regardless of its start.
pub const fn pages_of_run(blocks: u64) -> u64 {
    let mut pages = 0u64;
    let mut level = 0;
    while level < VOLUME_LEVEL && blocks > page_span(level) {
        pages = pages.saturating_add(blocks.div_ceil(page_span(level)).saturating_add(1));
        level += 1;
    }
    // From here up, a run lies in at most two pages of each level.
    pages.saturating_add(2 * (VOLUME_LEVEL as u64 + 1 - level as u64))
}

/// Lowest level whose root spans `blocks`.
pub const fn level_for(blocks: u64) -> u8 {
    let mut level = 0;
    while level < MAX_LEVEL && page_span(level) < blocks {
        level += 1;
    }
    level
}

/// Index of `block`'s entry in a page at `level`.
#[inline]
pub const fn index_in(block: BlockNumber, level: u8) -> usize {
    ((block.get() >> (8 * level as u32)) & 0xff) as usize
}

impl BlockNumber {
    /// Number of the page at `level` that spans the block.
    #[inline]
    pub const fn page(self, level: u8) -> u64 {
        self.get() / page_span(level)
    }

    /// First block that the page with this number at `level` spans.
    #[inline]
    pub const fn first_of_page(number: u64, level: u8) -> Self {
        Self::new(number * page_span(level))
    }

    /// First block after the page at `level` that spans this block.
    #[inline]
    pub const fn next_page(self, level: u8) -> Self {
        Self::first_of_page(self.page(level) + 1, level)
    }
}

/// Number of 4 KiB blocks of an object of `size_bytes`.
pub const fn blocks_for(size_bytes: u64) -> u64 {
    size_bytes.div_ceil(BLOCK_BYTES as u64)
}

/// Pointer to a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pointer {
    /// Block of the page; 0 for a pointer to nothing.
    pub address: BlockAddress,
    /// Level of the page; 0 is a leaf.
    pub level: u8,
    /// CRC-32C of the page as stored.
    pub crc: Crc32c,
}

impl Pointer {
    /// True if the pointer points to nothing.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.address.is_none()
    }
}
