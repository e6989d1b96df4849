//! Address space of a share: classes of regions, and the places of the meta class.
//!
//! | class | region | used for |
//! |---|---|---|
//! | 0 | – | super block, bitmaps of regions, inode table |
//! | 1 T | 1 block | up to 4 KiB |
//! | 2 P | 16 blocks | up to 64 KiB |
//! | 3 S | 2⁸ blocks | up to 1 MiB |
//! | 4 M | 2¹⁶ blocks | up to 256 MiB |
//! | 5 L | 2²⁴ blocks | up to 64 GiB |
//! | 6, 7 X | 2³² blocks | up to 16 TiB, the largest file |
//!
//! The class is in the upper 3 of the 48 bits of a block number. Regions of T and P are numbered by the file;
//! those of S to X are allocated in bitmaps.

use crate::engine::BLOCK_BYTES;
use std::ops::Range;
use vfs::FileId;

/// Bits of a block number below the class.
const CLASS_SHIFT: u32 = 45;
/// Bits of a fileid.
const FILE_BITS: u32 = 40;

/// Root directory.
pub(crate) const ROOT: FileId = FileId(2);
/// Directory of the files without a name.
pub(crate) const ORPHANS: FileId = FileId(3);
/// Smallest number of other files.
pub(crate) const FIRST_FILE: u64 = 16;
/// Numbers of files end below this.
pub(crate) const FILES: u64 = 1 << FILE_BITS;

/// Block of the super block.
pub(crate) const SUPER_BLOCK: u64 = 0;
/// First block of the bitmaps.
const BITMAPS: u64 = 1 << 40;
/// Distance of the bitmaps of two classes, in blocks.
const BITMAP_STEP: u64 = 1 << 32;
/// First block of the inode table.
const INODES: u64 = 1 << 44;
/// Inodes of one block.
pub(crate) const INODES_PER_BLOCK: u64 = 16;
/// Bytes of an inode.
pub(crate) const INODE_BYTES: usize = 256;
/// Bits of a bitmap block.
pub(crate) const BITS_PER_BLOCK: u64 = BLOCK_BYTES * 8;

/// Class of regions of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    T = 1,
    P,
    S,
    M,
    L,
    X,
}

impl Class {
    pub(crate) const ALL: [Self; 6] = [Self::T, Self::P, Self::S, Self::M, Self::L, Self::X];
    /// Classes with a bitmap.
    pub(crate) const ALLOCATED: [Self; 4] = [Self::S, Self::M, Self::L, Self::X];

    /// Smallest class for a size above 0. `None`: larger than the largest file.
    pub(crate) fn of_size(size_bytes: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|class| size_bytes <= class.blocks() * BLOCK_BYTES)
    }

    const fn shift(self) -> u32 {
        match self {
            Self::T => 0,
            Self::P => 4,
            Self::S => 8,
            Self::M => 16,
            Self::L => 24,
            Self::X => 32,
        }
    }

    /// Blocks of a region.
    pub(crate) const fn blocks(self) -> u64 {
        1 << self.shift()
    }

    /// Number of regions. X has two values of the class bits.
    pub(crate) const fn regions(self) -> u64 {
        let bits = CLASS_SHIFT - self.shift();
        1 << if matches!(self, Self::X) { bits + 1 } else { bits }
    }

    /// True if regions are allocated in a bitmap.
    pub(crate) const fn is_allocated(self) -> bool {
        matches!(self, Self::S | Self::M | Self::L | Self::X)
    }

    /// Blocks of the class's bitmap.
    pub(crate) const fn bitmap(self) -> Range<u64> {
        let first = BITMAPS + self as u64 * BITMAP_STEP;
        first..first + self.regions().div_ceil(BITS_PER_BLOCK)
    }

    /// The next larger class.
    pub(crate) fn next(self) -> Option<Self> {
        Self::ALL.into_iter().find(|class| *class > self)
    }
}

/// Use of a region that is numbered by its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Content = 0,
    Xattrs = 1,
}

/// Region: a part of the address space for one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Region {
    pub class: Class,
    pub number: u64,
}

impl Region {
    /// Region of class T or P that belongs to a file by its number.
    pub(crate) const fn of_file(class: Class, part: Part, file: FileId) -> Self {
        Self { class, number: (part as u64) << FILE_BITS | file.0 }
    }

    /// Decodes the field of an inode: `Ok(None)` for 0, `Err` for no region.
    pub(crate) fn decode(field: u64) -> Result<Option<Self>, ()> {
        if field == 0 {
            return Ok(None);
        }
        let class = Class::ALL.into_iter().find(|class| *class as u64 == field >> CLASS_SHIFT).ok_or(())?;
        let number = field & ((1 << CLASS_SHIFT) - 1);
        if number < class.regions() { Ok(Some(Self { class, number })) } else { Err(()) }
    }

    /// Field of an inode.
    pub(crate) fn encode(region: Option<Self>) -> u64 {
        region.map_or(0, |region| (region.class as u64) << CLASS_SHIFT | region.number)
    }

    /// First block.
    pub(crate) const fn first(self) -> u64 {
        ((self.class as u64) << CLASS_SHIFT) + (self.number << self.class.shift())
    }

    /// All blocks.
    pub(crate) const fn blocks(self) -> Range<u64> {
        self.first()..self.first() + self.class.blocks()
    }

    /// Address of a byte of the region in its object.
    pub(crate) const fn byte(self, offset_bytes: u64) -> u64 {
        self.first() * BLOCK_BYTES + offset_bytes
    }

    /// Addresses of bytes of the region.
    pub(crate) const fn bytes(self, range: Range<u64>) -> Range<u64> {
        self.byte(range.start)..self.byte(range.end)
    }

    /// Block and bit in it that say whether the region is in use, for allocated classes.
    pub(crate) const fn bit(self) -> (u64, u64) {
        (self.class.bitmap().start + self.number / BITS_PER_BLOCK, self.number % BITS_PER_BLOCK)
    }
}

/// Block of an inode, and its bytes there.
pub(crate) const fn inode_at(file: FileId) -> (u64, Range<usize>) {
    let start = (file.0 % INODES_PER_BLOCK) as usize * INODE_BYTES;
    (INODES + file.0 / INODES_PER_BLOCK, start..start + INODE_BYTES)
}

/// Blocks of the inode table.
pub(crate) const fn inode_table() -> Range<u64> {
    INODES..INODES + FILES / INODES_PER_BLOCK
}

/// File to which a block belongs, if its address says so.
pub(crate) const fn file_of(block: u64) -> Option<FileId> {
    let mask = (1 << FILE_BITS) - 1;
    match block >> CLASS_SHIFT {
        1 => Some(FileId(block & mask)),
        2 => Some(FileId(block >> Class::P.shift() & mask)),
        _ => None,
    }
}

/// First file of a block of the inode table.
pub(crate) const fn first_file_of(block: u64) -> u64 {
    (block - INODES) * INODES_PER_BLOCK
}

/// Blocks of a share.
pub(crate) const BLOCKS: u64 = 1 << 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_fill_the_address_space_without_overlap() {
        let mut end = 1 << CLASS_SHIFT;
        for class in Class::ALL {
            let first = Region { class, number: 0 };
            let last = Region { class, number: class.regions() - 1 };
            assert_eq!(first.first(), end);
            end = last.blocks().end;
        }
        assert_eq!(end, BLOCKS);
    }

    #[test]
    fn the_meta_class_has_room_for_bitmaps_and_inodes() {
        let mut end = SUPER_BLOCK + 1;
        for class in Class::ALLOCATED {
            assert!(class.bitmap().start >= end);
            end = class.bitmap().end;
        }
        assert!(end <= inode_table().start && inode_table().end <= 1 << CLASS_SHIFT);
        assert_eq!(inode_at(FileId(FILES - 1)), (inode_table().end - 1, 3840..4096));
    }

    #[test]
    fn a_small_region_names_its_file() {
        let file = FileId(FILES - 1);
        for (class, part) in [(Class::T, Part::Content), (Class::T, Part::Xattrs), (Class::P, Part::Xattrs)] {
            let blocks = Region::of_file(class, part, file).blocks();
            assert_eq!([blocks.start, blocks.end - 1].map(file_of), [Some(file); 2]);
        }
        assert_eq!([SUPER_BLOCK, 3 << CLASS_SHIFT].map(file_of), [None; 2]);
    }

    #[test]
    fn the_class_follows_from_the_size() {
        let sizes = [(1, Class::T), (4096, Class::T), (4097, Class::P), (1 << 20, Class::S), ((1 << 28) + 1, Class::L)];
        for (size, class) in sizes {
            assert_eq!(Class::of_size(size), Some(class));
        }
        assert_eq!((Class::of_size(1 << 44), Class::of_size((1 << 44) + 1)), (Some(Class::X), None));
        let counts = [45, 41, 37, 29, 21, 14];
        assert_eq!(Class::ALL.map(Class::regions), counts.map(|bits| 1 << bits));
    }

    #[test]
    fn a_region_is_stored_in_48_bits() {
        assert_eq!(Region::decode(0), Ok(None));
        for class in Class::ALL {
            for number in [0, 1, class.regions() - 1] {
                let region = Region { class, number };
                assert_eq!(Region::decode(Region::encode(Some(region))), Ok(Some(region)));
            }
            if class > Class::T {
                assert_eq!(Region::decode((class as u64) << 45 | class.regions()), Err(()));
            }
        }
        assert_eq!((Region::decode(7 << 45), Region::decode(5)), (Err(()), Err(())));
    }
}
