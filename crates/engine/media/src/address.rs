//! Address of a block of the pool.

use std::fmt;
use std::ops::{Add, Sub};

/// Address of a 4 KiB block of the pool, counted from the start of the device. Block 0 holds a
/// superblock, so 0 never refers to data.
///
/// An address plus a number of blocks is an address; the difference of two addresses is a number of
/// blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct BlockAddress(u64);

impl BlockAddress {
    /// Address of no block: of content that is not stored, of a page that does not exist.
    pub const NONE: Self = Self(0);

    /// Largest address, above every block.
    pub const MAX: Self = Self(u64::MAX);

    /// Address of the block with this number.
    #[inline]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Number of the block, counted from the start of the device.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// True for [`Self::NONE`].
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Address `blocks` further on; `None` above the largest number.
    #[inline]
    pub fn checked_add(self, blocks: u64) -> Option<Self> {
        self.0.checked_add(blocks).map(Self)
    }

    /// Number of blocks from `start` to here; 0 if `start` is not below.
    #[inline]
    pub const fn saturating_sub(self, start: Self) -> u64 {
        self.0.saturating_sub(start.0)
    }
}

impl Add<u64> for BlockAddress {
    type Output = Self;

    #[inline]
    fn add(self, blocks: u64) -> Self {
        Self(self.0 + blocks)
    }
}

impl Sub for BlockAddress {
    type Output = u64;

    #[inline]
    fn sub(self, start: Self) -> u64 {
        self.0 - start.0
    }
}

impl fmt::Display for BlockAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
