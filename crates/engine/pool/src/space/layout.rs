//! Where things are in the data area: zones of 512 segments of 8 MiB; the first segment of a zone holds the zone's
//! space map.
//!
//! ```text
//! data_start            zone 0                                zone 1
//! | meta | seg 1 | seg 2 | … | seg 511 |                      | meta | seg 1 | …
//!   block 0, 1       space index of the zone, slots A and B
//!   block 2, 3       upper index of 512 zones, slots A and B (used in zones 0, 512, …)
//!   block 16 + 2n    reference counts of segment n, slot A; + 1: slot B
//! ```
//! A zone is 4 GiB, so a pool grows by adding zones. The last zone and the last segment may be short.

use media::BlockAddress;

/// Number of blocks in a segment: 8 MiB, whose 16-bit reference counts fill one block.
pub const SEGMENT_BLOCKS: u64 = 2048;
/// Number of segments in a zone; the first one is metadata.
pub const ZONE_SEGMENTS: u64 = 512;
/// Number of zones under one upper index page.
pub const GROUP_ZONES: u64 = 512;
/// Number of blocks in a zone.
pub const ZONE_BLOCKS: u64 = SEGMENT_BLOCKS * ZONE_SEGMENTS;

const FIRST_COUNTS_BLOCK: u64 = 16;

/// Data area of a pool, in 4 KiB blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// First block; a multiple of [`SEGMENT_BLOCKS`].
    pub start: BlockAddress,
    /// First block after the area.
    pub end: BlockAddress,
}

impl Layout {
    /// Number of segments, the zones' metadata segments included. A short last segment counts if it
    /// has at least one block.
    pub fn segments(&self) -> u32 {
        self.end.saturating_sub(self.start).div_ceil(SEGMENT_BLOCKS) as u32
    }

    /// Number of zones.
    pub fn zones(&self) -> u32 {
        self.segments().div_ceil(ZONE_SEGMENTS as u32)
    }

    /// Number of upper index pages.
    pub fn groups(&self) -> u32 {
        self.zones().div_ceil(GROUP_ZONES as u32)
    }

    /// True for a zone's metadata segment.
    pub fn is_metadata(&self, segment: u32) -> bool {
        u64::from(segment).is_multiple_of(ZONE_SEGMENTS)
    }

    /// Segment and offset of a block of the data area.
    #[inline]
    pub fn locate(&self, address: BlockAddress) -> Option<(u32, usize)> {
        if address < self.start || address >= self.end {
            return None;
        }
        let offset = address - self.start;
        Some(((offset / SEGMENT_BLOCKS) as u32, (offset % SEGMENT_BLOCKS) as usize))
    }

    /// Blocks of the data area that are in one segment with `address`; empty if it is outside.
    pub fn neighbours(&self, address: BlockAddress) -> std::ops::Range<BlockAddress> {
        match self.locate(address) {
            Some((segment, _)) => self.segment_start(segment)..self.segment_start(segment + 1).min(self.end),
            None => BlockAddress::NONE..BlockAddress::NONE,
        }
    }

    /// First block of a segment.
    pub fn segment_start(&self, segment: u32) -> BlockAddress {
        self.start + u64::from(segment) * SEGMENT_BLOCKS
    }

    /// Number of blocks in a segment that exist on the device.
    pub fn segment_blocks(&self, segment: u32) -> u64 {
        SEGMENT_BLOCKS.min(self.end.saturating_sub(self.segment_start(segment)))
    }

    /// Number of blocks that data and map pages can use.
    pub fn usable_blocks(&self) -> u64 {
        let meta: u64 = (0..self.zones()).map(|z| self.segment_blocks(z * ZONE_SEGMENTS as u32)).sum();
        (self.end - self.start) - meta
    }

    fn zone_start(&self, zone: u32) -> BlockAddress {
        self.start + u64::from(zone) * ZONE_BLOCKS
    }

    /// Block of the reference counts of `segment` in `slot` (0 or 1).
    pub fn counts_block(&self, segment: u32, slot: u8) -> BlockAddress {
        let zone = segment / ZONE_SEGMENTS as u32;
        let index = u64::from(segment) % ZONE_SEGMENTS;
        self.zone_start(zone) + FIRST_COUNTS_BLOCK + 2 * index + u64::from(slot)
    }

    /// Block of a zone's index in `slot`.
    pub fn zone_index_block(&self, zone: u32, slot: u8) -> BlockAddress {
        self.zone_start(zone) + u64::from(slot)
    }

    /// Block of a group's index in `slot`.
    pub fn group_index_block(&self, group: u32, slot: u8) -> BlockAddress {
        self.zone_start(group * GROUP_ZONES as u32) + 2 + u64::from(slot)
    }

    /// Text of the finding that the counts of a segment are lost.
    pub fn given_up(&self, segment: u32) -> String {
        let (first, blocks) = (self.segment_start(segment), self.segment_blocks(segment));
        format!(
            "the reference counts of blocks {first} to {} were lost: no block there is allocated or freed until a repair",
            (first + blocks).get() - 1
        )
    }
}
