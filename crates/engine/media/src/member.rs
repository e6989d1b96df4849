//! Identification of the files and devices of one pool: a label on each further member, and a table
//! of their paths on the first.
//!
//! The superblock lists the members with order and size. The label identifies a device as one of
//! them, so that a foreign or swapped device is noticed. The table gives the path of each member,
//! because an administrator names only the first one at start; it lies in free blocks between
//! superblock and log.
//!
//! ```text
//! label: blocks 0 and 1 of a further member, identical; its data begins at its block 256 (1 MiB)
//! 0     8  magic "WLmember"
//! 8     4  format version: 1
//! 12    4  index of the member, from 1
//! 16   16  UUID of the pool
//! 32   16  UUID of the member
//! 48    8  its blocks of the pool when it was added
//! 56 4032  reserved
//! 4088  8  CRC-64/NVME of bytes 0 to 4 087
//!
//! table: blocks 16 to 31 of the first member, copy in 32 to 47; the newer intact one counts
//! 0     8  magic "WLtable1"
//! 8     8  CRC-64/NVME of the bytes in use, with this field zero
//! 16   16  UUID of the pool
//! 32    8  generation: each change adds 1
//! 40    4  bytes in use, header included
//! 44    4  number of members
//! 48   16  reserved
//! 64       for each member: UUID (16), blocks (8), length of its path (4), reserved (4), path
//! ```

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::growth::MAX_MEMBERS;
use crate::{BLOCK_BYTES, Block, Buffer};

/// First block of a further member that belongs to the pool's addresses.
pub(crate) const MEMBER_SKIP_BLOCKS: u64 = 256;
/// Blocks of the label's copies.
pub(crate) const LABEL_BLOCKS: [u64; 2] = [0, 1];
/// First blocks of the table's copies.
pub(crate) const TABLE_BLOCKS: [u64; 2] = [16, 32];
/// Blocks of one copy of the table.
pub(crate) const TABLE_LENGTH: usize = 16;
/// Longest path of a member in bytes; all members' paths together fit a table.
pub(crate) const MAX_PATH_BYTES: usize = 4000;

const LABEL_MAGIC: [u8; 8] = *b"WLmember";
const LABEL_VERSION: u32 = 1;
const TABLE_MAGIC: [u8; 8] = *b"WLtable1";
const _: () = assert!(
    size_of::<RawTable>() + MAX_MEMBERS * (size_of::<RawEntry>() + MAX_PATH_BYTES) <= TABLE_LENGTH * BLOCK_BYTES
);

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawLabel {
    magic: [u8; 8],
    format_version: U32,
    index: U32,
    pool: [u8; 16],
    member: [u8; 16],
    blocks: U64,
    reserved: [u8; 4032],
    checksum: U64,
}
const _: () = assert!(size_of::<RawLabel>() == BLOCK_BYTES);

/// Label of a further member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) pool: [u8; 16],
    pub(crate) member: [u8; 16],
    /// Index of the member, from 1.
    pub(crate) index: usize,
    /// Blocks of the member when it was added.
    pub(crate) blocks: u64,
}

impl Label {
    pub(crate) fn encode(&self) -> Block {
        let mut raw = RawLabel {
            magic: LABEL_MAGIC,
            format_version: U32::new(LABEL_VERSION),
            index: U32::new(u32::try_from(self.index).unwrap_or(u32::MAX)),
            pool: self.pool,
            member: self.member,
            blocks: U64::new(self.blocks),
            reserved: [0; 4032],
            checksum: U64::new(0),
        };
        raw.checksum = U64::new(label_checksum(&raw));
        Block(zerocopy::transmute!(raw))
    }

    /// Decodes a label. `Ok(None)`: there is none. The error describes a defective label.
    pub(crate) fn decode(block: &Block) -> Result<Option<Self>, String> {
        let raw: &RawLabel = zerocopy::transmute_ref!(&block.0);
        if raw.magic != LABEL_MAGIC {
            return Ok(None);
        }
        if raw.checksum.get() != label_checksum(raw) {
            return Err("the checksum of its label does not match".to_owned());
        }
        if raw.format_version.get() != LABEL_VERSION {
            return Err(format!(
                "its label has format version {}; this release reads version {LABEL_VERSION}: use a newer release",
                raw.format_version
            ));
        }
        Ok(Some(Self {
            pool: raw.pool,
            member: raw.member,
            index: usize::try_from(raw.index.get()).unwrap_or(usize::MAX),
            blocks: raw.blocks.get(),
        }))
    }
}

fn crc64(bytes: &[u8]) -> u64 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, bytes)
}

fn label_checksum(raw: &RawLabel) -> u64 {
    crc64(raw.as_bytes().get(..BLOCK_BYTES - 8).unwrap_or_default())
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawTable {
    magic: [u8; 8],
    checksum: U64,
    pool: [u8; 16],
    generation: U64,
    length: U32,
    count: U32,
    reserved: [u8; 16],
}
const _: () = assert!(size_of::<RawTable>() == 64);

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawEntry {
    member: [u8; 16],
    blocks: U64,
    path_length: U32,
    reserved: [u8; 4],
}
const _: () = assert!(size_of::<RawEntry>() == 32);

/// Last known place of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) member: [u8; 16],
    pub(crate) blocks: u64,
    /// Path; empty for the first member, which the administrator names.
    pub(crate) path: PathBuf,
}

/// Table of the members' paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) pool: [u8; 16],
    pub(crate) generation: u64,
    pub(crate) places: Vec<Place>,
}

/// Whether a path fits the table.
pub(crate) fn path_fits(path: &Path) -> bool {
    path.as_os_str().len() <= MAX_PATH_BYTES
}

impl Table {
    /// Encodes one copy. There are at most [`MAX_MEMBERS`] places, and each path fits.
    pub(crate) fn encode(&self) -> Buffer {
        let mut body = Vec::new();
        for place in &self.places {
            let path = place.path.as_os_str().as_bytes();
            let entry = RawEntry {
                member: place.member,
                blocks: U64::new(place.blocks),
                path_length: U32::new(u32::try_from(path.len()).unwrap_or(u32::MAX)),
                reserved: [0; 4],
            };
            body.extend_from_slice(entry.as_bytes());
            body.extend_from_slice(path);
        }
        let length = size_of::<RawTable>() + body.len();
        let mut header = RawTable {
            magic: TABLE_MAGIC,
            checksum: U64::new(0),
            pool: self.pool,
            generation: U64::new(self.generation),
            length: U32::new(u32::try_from(length).unwrap_or(u32::MAX)),
            count: U32::new(u32::try_from(self.places.len()).unwrap_or(u32::MAX)),
            reserved: [0; 16],
        };
        let sum = |header: &RawTable| crc64(&[header.as_bytes(), &body].concat());
        header.checksum = U64::new(sum(&header));
        let bytes = [header.as_bytes(), &body].concat();
        let mut buffer = Buffer::zeroed(TABLE_LENGTH);
        buffer.iter_mut().zip(&bytes).for_each(|(to, from)| *to = *from);
        buffer
    }

    /// Decodes the table in `buffer`; `None` unless it is intact.
    pub(crate) fn decode(buffer: &[u8]) -> Option<Self> {
        let (mut header, _) = RawTable::read_from_prefix(buffer).ok()?;
        let length = usize::try_from(header.length.get()).ok()?;
        let body = buffer.get(size_of::<RawTable>()..length)?;
        let stored = std::mem::replace(&mut header.checksum, U64::new(0)).get();
        if header.magic != TABLE_MAGIC || stored != crc64(&[header.as_bytes(), body].concat()) {
            return None;
        }
        let mut places = Vec::new();
        let mut rest = body;
        for _ in 0..header.count.get() {
            let (entry, after) = RawEntry::read_from_prefix(rest).ok()?;
            let (path, after) = after.split_at_checked(usize::try_from(entry.path_length.get()).ok()?)?;
            rest = after;
            let path = PathBuf::from(OsString::from_vec(path.to_vec()));
            places.push(Place { member: entry.member, blocks: entry.blocks.get(), path });
        }
        Some(Self { pool: header.pool, generation: header.generation.get(), places })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn table(places: usize) -> Table {
        let place = |index: usize| Place {
            member: [u8::try_from(index).unwrap(); 16],
            blocks: 10 + u64::try_from(index).unwrap(),
            path: PathBuf::from("x".repeat(if index == 0 { 0 } else { MAX_PATH_BYTES })),
        };
        Table { pool: *b"0123456789abcdef", generation: 7, places: (0..places).map(place).collect() }
    }

    #[test]
    fn a_table_of_the_most_and_longest_paths_comes_back() {
        let table = table(MAX_MEMBERS);
        assert_eq!(Table::decode(&table.encode()), Some(table));
    }

    #[test]
    fn every_flipped_bit_of_table_and_label_is_noticed() {
        let whole = table(2);
        let bytes = whole.encode();
        let used = 64 + 32 + 32 + MAX_PATH_BYTES;
        for bit in (0..used * 8).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Table::decode(&damaged), None, "bit {bit}");
        }
        let label = Label { pool: [1; 16], member: [2; 16], index: 3, blocks: 4 };
        let block = label.encode();
        assert_eq!(Label::decode(&block), Ok(Some(label)));
        for bit in 0..BLOCK_BYTES * 8 {
            let mut damaged = block.clone();
            damaged.0[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Label::decode(&damaged), Ok(Some(label)), "bit {bit}");
        }
    }

    #[test]
    fn fields_are_where_the_format_says() {
        let block = Label { pool: *b"0123456789abcdef", member: [9; 16], index: 2, blocks: 77 }.encode();
        assert_eq!(&block.0[..16], b"WLmember\x01\0\0\0\x02\0\0\0");
        assert_eq!((&block.0[16..32], &block.0[32..48]), (&b"0123456789abcdef"[..], &[9; 16][..]));
        assert_eq!(&block.0[48..56], &77u64.to_le_bytes());
        let table = table(1).encode();
        assert_eq!((&table[..8], &table[16..32]), (&b"WLtable1"[..], &b"0123456789abcdef"[..]));
        assert_eq!((&table[32..40], &table[40..48]), (&7u64.to_le_bytes()[..], &[96, 0, 0, 0, 1, 0, 0, 0][..]));
        assert_eq!(&table[80..88], &10u64.to_le_bytes());
    }
}
