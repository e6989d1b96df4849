//! Pages of the map: leaf and interior pages have one layout, a 64-byte header and 256 entries of
//! 12 bytes.
//!
//! A leaf entry has the address of the block that holds 4 KiB of a volume, and the CRC-32C of its
//! content. An interior entry has the address of a child page, its CRC-32C and the number of blocks
//! mapped below it. So a parent verifies its children: the first read finds a lost or misdirected
//! write. In memory a page has its form on disk, without the padding.

use crate::checksum::Crc32c;
use crate::geometry::{FANOUT, MAX_LEVEL, NARROW_LEVEL, Pointer, page_span};
use crate::interface::ObjectId;
use media::BlockAddress;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// First bytes of a page: "WLpg".
pub const PAGE_MAGIC: u32 = 0x6770_4c57;

const ADDRESS_BITS: u32 = 40;
const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;

/// Pointer to a block or child page. 12 bytes, little-endian.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Entry {
    /// Bits 0–39: block address, 0 = none. Bits 40–63: in a leaf flags (0 = raw); in an interior page the mapped
    /// blocks below, in units of [`mapped_unit`], minus one.
    word: U64,
    /// CRC-32C of the block or child page.
    crc: U32,
}

const _: () = assert!(size_of::<Entry>() == 12);

/// Blocks in a unit of the mapped counts in the entries of a page at `level`. Up to level 3 the counts
/// are exact; above, they are rounded up, and the header of the child has the exact number.
const fn mapped_unit(level: u8) -> u64 {
    match level {
        0..=NARROW_LEVEL => 1,
        4 => 1 << 8,
        _ => 1 << 16,
    }
}
// A full child has 2²⁴ units.
const _: () = assert!(page_span(NARROW_LEVEL - 1) == 1 << 24);
const _: () = assert!(page_span(MAX_LEVEL - 1) == mapped_unit(MAX_LEVEL) << 24);

/// Number of mapped blocks below a page, as its parent states it: exact, or rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedMapped {
    /// Number of blocks, a multiple of `unit`.
    pub blocks: u64,
    unit: u64,
}

impl StatedMapped {
    /// Number that an object states for its root page.
    pub const fn exact(blocks: u64) -> Self {
        Self { blocks, unit: 1 }
    }

    /// True if it may be stated for a page below which `mapped` blocks are mapped.
    pub fn is_of(self, mapped: u64) -> bool {
        mapped.checked_next_multiple_of(self.unit) == Some(self.blocks)
    }
}

impl Entry {
    /// Entry without a block.
    pub const EMPTY: Self = Self { word: U64::new(0), crc: U32::new(0) };

    /// Creates a leaf entry.
    pub fn block(address: BlockAddress, crc: Crc32c) -> Self {
        debug_assert!(address.get() <= ADDRESS_MASK);
        Self { word: U64::new(address.get() & ADDRESS_MASK), crc: U32::new(crc.get()) }
    }

    /// Creates an entry of a page at `level` (≥ 1) for a child page with `mapped` (≥ 1) mapped blocks
    /// below it.
    #[inline]
    pub fn child(level: u8, address: BlockAddress, mapped: u64, crc: Crc32c) -> Self {
        let mapped = mapped.div_ceil(mapped_unit(level));
        debug_assert!(address.get() <= ADDRESS_MASK && (1..=1 << 24).contains(&mapped));
        Self {
            word: U64::new((address.get() & ADDRESS_MASK) | ((mapped.wrapping_sub(1)) << ADDRESS_BITS)),
            crc: U32::new(crc.get()),
        }
    }

    /// Address of the block or page; 0 for an empty entry.
    #[inline]
    pub fn address(&self) -> BlockAddress {
        BlockAddress::new(self.word.get() & ADDRESS_MASK)
    }

    /// True if the entry has no address.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.address().is_none()
    }

    /// Number of blocks mapped below an entry of a page at `level` (≥ 1), rounded up above level 3; 0
    /// for an empty one.
    #[inline]
    pub fn mapped(&self, level: u8) -> u64 {
        if self.is_empty() { 0 } else { ((self.word.get() >> ADDRESS_BITS) + 1) * mapped_unit(level) }
    }

    /// The same, with its exactness.
    pub fn stated_mapped(&self, level: u8) -> StatedMapped {
        StatedMapped { blocks: self.mapped(level), unit: mapped_unit(level) }
    }

    /// CRC-32C of the block or page.
    #[inline]
    pub fn crc(&self) -> Crc32c {
        Crc32c::new(self.crc.get())
    }

    /// Pointer to the child page of an entry in a page at `level` (≥ 1).
    #[inline]
    pub fn child_pointer(&self, level: u8) -> Pointer {
        Pointer { address: self.address(), level: level - 1, crc: self.crc() }
    }

    /// Returns the entry with another CRC.
    pub fn with_crc(self, crc: Crc32c) -> Self {
        Self { crc: U32::new(crc.get()), ..self }
    }
}

/// Header of a page. 64 bytes.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct PageHeader {
    magic: U32,
    /// CRC-32C of the page (header and entries) with this field zero. The parent holds the same value.
    crc: U32,
    level: u8,
    reserved: [u8; 7],
    /// Epoch in which the page was last changed.
    epoch: U64,
    /// Address the page was written to.
    own_address: U64,
    /// Object that the page was created for; a hint for repair, since pages are shared.
    object_hint: U64,
    /// Number of blocks mapped below this page.
    mapped: U64,
    reserved2: [u8; 16],
}

const _: () = assert!(size_of::<PageHeader>() == 64);

/// Offsets as in docs/on-disk-format.md.
const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(PageHeader, magic) == 0);
    assert!(offset_of!(PageHeader, crc) == 4);
    assert!(offset_of!(PageHeader, level) == 8);
    assert!(offset_of!(PageHeader, epoch) == 16);
    assert!(offset_of!(PageHeader, own_address) == 24);
    assert!(offset_of!(PageHeader, object_hint) == 32);
    assert!(offset_of!(PageHeader, mapped) == 40);
};

/// Header fields that a dump shows.
pub struct PageHeaderFields {
    /// CRC in the header.
    pub stored_crc: Crc32c,
    /// CRC computed from the page.
    pub computed_crc: Crc32c,
    /// Address in the header.
    pub own_address: BlockAddress,
    /// Object that the page was created for.
    pub object_hint: ObjectId,
}

/// A page of the map.
#[derive(Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Page {
    header: PageHeader,
    /// Entries, by index.
    pub entries: [Entry; FANOUT],
}

/// Bytes of a page in use; the rest of its block is zero.
pub const PAGE_BYTES: usize = size_of::<Page>();
const _: () = assert!(PAGE_BYTES == 64 + 256 * 12 && PAGE_BYTES <= media::BLOCK_BYTES);

impl Page {
    /// Creates an empty page at `level`.
    pub fn empty(level: u8, epoch: u64, address: BlockAddress, object_hint: ObjectId) -> Self {
        let mut page = Page::new_zeroed();
        page.header.magic = U32::new(PAGE_MAGIC);
        page.header.level = level;
        page.header.object_hint = U64::new(object_hint.0);
        page.place(epoch, address);
        page
    }

    /// Records a move: the page now belongs to `epoch` and is at `address`.
    pub fn place(&mut self, epoch: u64, address: BlockAddress) {
        self.header.epoch = U64::new(epoch);
        self.header.own_address = U64::new(address.get());
        self.header.crc = U32::new(0);
    }

    /// True if `pointer` names this page and not an earlier or later one at its address. Until a
    /// page is sealed, its checksum is 0, and so is the one in every pointer to it.
    #[inline]
    pub fn is_named_by(&self, pointer: Pointer) -> bool {
        self.header.crc.get() == pointer.crc.get() && self.header.level == pointer.level
    }

    /// True if the page has its checksum.
    #[inline]
    pub fn is_sealed(&self) -> bool {
        self.header.crc.get() != 0
    }

    /// Level: 0 for a leaf.
    pub fn level(&self) -> u8 {
        self.header.level
    }

    /// Epoch of the last change.
    pub fn epoch(&self) -> u64 {
        self.header.epoch.get()
    }

    /// Number of blocks mapped below.
    pub fn mapped(&self) -> u64 {
        self.header.mapped.get()
    }

    /// Number of blocks that the entries map, if the number in the header contradicts it.
    pub fn contradiction(&self) -> Option<u64> {
        let level = self.level();
        let entries = self.entries.iter().filter(|entry| !entry.is_empty());
        let (used, sum) = entries
            .fold((0, 0), |(used, sum), entry| (used + 1, sum + if level == 0 { 1 } else { entry.mapped(level) }));
        let rounded_up = used * (mapped_unit(level) - 1);
        let possible = sum - rounded_up.min(sum)..=sum;
        (!possible.contains(&self.mapped())).then_some(sum)
    }

    /// Sets the number of blocks mapped below.
    pub fn set_mapped(&mut self, mapped: u64) {
        self.header.mapped = U64::new(mapped);
    }

    /// Computes the CRC, stores it in the header and returns it.
    pub fn seal(&mut self) -> Crc32c {
        self.header.crc = U32::new(0);
        let crc = Crc32c::of(self.as_bytes());
        self.header.crc = U32::new(crc.get());
        crc
    }

    /// Reads a block as a page without verifying it; `None` without the magic number of a page.
    pub fn inspect(block: &[u8]) -> Option<(Self, PageHeaderFields)> {
        let (mut page, _) = Page::read_from_prefix(block).ok()?;
        if page.header.magic.get() != PAGE_MAGIC {
            return None;
        }
        let stored_crc = Crc32c::new(page.header.crc.get());
        let (own_address, object_hint) =
            (BlockAddress::new(page.header.own_address.get()), ObjectId(page.header.object_hint.get()));
        let computed_crc = page.seal();
        Some((page, PageHeaderFields { stored_crc, computed_crc, own_address, object_hint }))
    }

    /// Parses a block read from `address` as a page at `level` whose parent has `crc`. The error
    /// describes the problem.
    pub fn parse(block: &[u8], address: BlockAddress, level: u8, crc: Crc32c) -> Result<Self, String> {
        let (mut page, _) = Page::read_from_prefix(block).map_err(|_| "short page".to_string())?;
        let stored = Crc32c::new(page.header.crc.get());
        let computed = page.seal();
        if page.header.magic.get() != PAGE_MAGIC {
            return Err(format!("block {address} is not a map page"));
        }
        if computed != stored || computed != crc {
            return Err(format!("map page {address}: checksum {computed:08x}, its parent says {crc:08x}"));
        }
        if page.header.own_address.get() != address.get() || page.header.level != level {
            return Err(format!("map page {address}: misplaced"));
        }
        let (mapped, span) = (page.mapped(), page_span(level));
        if mapped > span {
            return Err(format!("map page {address}: says that {mapped} of its {span} blocks are mapped"));
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::level_for;

    #[test]
    fn entry_keeps_address_count_and_crc() {
        let address = BlockAddress::new(ADDRESS_MASK);
        let e = Entry::child(3, address, 1 << 24, Crc32c::new(7));
        assert_eq!((e.address(), e.mapped(3), e.crc()), (address, 1 << 24, Crc32c::new(7)));
        assert_eq!(Entry::EMPTY.mapped(3), 0);
        for (level, unit) in [(4, 1 << 8), (5, 1 << 16)] {
            let full = unit << 24;
            for (mapped, stated) in [(1, unit), (unit, unit), (unit + 1, 2 * unit), (full - 1, full), (full, full)] {
                let e = Entry::child(level, address, mapped, Crc32c::NONE);
                assert_eq!((e.mapped(level), e.stated_mapped(level).is_of(mapped)), (stated, true));
                assert!(!e.stated_mapped(level).is_of(stated + 1) && !e.stated_mapped(level).is_of(stated - unit));
            }
        }
    }

    #[test]
    fn levels_span_the_documented_sizes() {
        let mib = 256;
        assert_eq!(level_for(mib), 0);
        assert_eq!(level_for(mib + 1), 1);
        assert_eq!(level_for(256 * mib), 1);
        assert_eq!(level_for(64 * 1024 * mib), 2);
        assert_eq!(level_for(16 * 1024 * 1024 * mib), 3);
        assert_eq!(level_for(256 * 1024 * 1024 * mib), 4);
        assert_eq!(level_for(1 << 48), 5);
    }

    #[test]
    fn a_flipped_bit_is_found() -> Result<(), String> {
        let (address, content) = (BlockAddress::new(77), BlockAddress::new(9));
        let mut page = Page::empty(0, 3, address, ObjectId(1));
        page.entries[5] = Entry::block(content, Crc32c::new(1));
        let crc = page.seal();
        let mut block = vec![0; media::BLOCK_BYTES];
        block[..PAGE_BYTES].copy_from_slice(page.as_bytes());
        assert_eq!(Page::parse(&block, address, 0, crc)?.entries[5].address(), content);
        assert!(Page::parse(&block, address + 1, 0, crc).is_err());
        assert!(Page::parse(&block, address, 1, crc).is_err());
        block[200] ^= 1;
        assert!(Page::parse(&block, address, 0, crc).is_err());
        Ok(())
    }

    #[test]
    fn more_blocks_than_a_page_spans_are_not_believed() {
        let address = BlockAddress::new(77);
        for (level, mapped, believed) in [(0, 256, true), (0, 257, false), (1, 65_536, true), (1, u64::MAX, false)] {
            let mut page = Page::empty(level, 3, address, ObjectId(1));
            page.set_mapped(mapped);
            let crc = page.seal();
            assert_eq!(
                Page::parse(page.as_bytes(), address, level, crc).is_ok(),
                believed,
                "{mapped} at level {level}"
            );
        }
    }

    #[test]
    fn a_header_contradicts_its_entries_beyond_what_they_round() {
        let with = |level: u8, children: &[u64], header: u64| {
            let mut page = Page::empty(level, 3, BlockAddress::new(77), ObjectId(1));
            for (index, mapped) in children.iter().enumerate() {
                page.entries[index] = match level {
                    0 => Entry::block(BlockAddress::new(9), Crc32c::NONE),
                    _ => Entry::child(level, BlockAddress::new(9), *mapped, Crc32c::NONE),
                };
            }
            page.set_mapped(header);
            page.contradiction()
        };
        assert_eq!((with(0, &[1, 1], 2), with(0, &[1, 1], 1)), (None, Some(2)));
        assert_eq!((with(3, &[5, 300], 305), with(3, &[5, 300], 304)), (None, Some(305)));
        assert_eq!(
            (with(4, &[5, 300], 305), with(4, &[5, 300], 257), with(4, &[5, 300], 769)),
            (None, Some(768), Some(768))
        );
        assert_eq!((with(5, &[5, 70_000], 70_005), with(5, &[5, 70_000], 65_538)), (None, None));
        assert_eq!((with(5, &[5, 70_000], 3), with(5, &[5, 70_000], 200_000)), (Some(196_608), Some(196_608)));
        assert_eq!(with(4, &[], 0), None);
    }
}
