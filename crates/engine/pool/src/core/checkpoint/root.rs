//! The root: the result of a checkpoint in the superblock, from which everything else is found.

use crate::catalog::allotments::MAX_TABLE_BYTES;
use crate::catalog::documents::Stored;
use crate::checksum::{Crc32c, Crc64};
use crate::geometry::{self, Pointer, STREAM_LEVEL};
use crate::index::{IndexRoot, MAX_LEVEL, PAGES};
use crate::interface::ObjectId;
use crate::space::slot::SlotEntry;
use media::BlockAddress;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// First bytes of a root: "WLroot01".
pub const ROOT_MAGIC: u64 = 0x3130_746f_6f72_4c57;
/// Format version of everything below the root, as written. A reader refuses a newer one. Version 1
/// had no reservations, no switch for zero detection, no rollback, and no sizes in the drop queue;
/// the fields that version 2 has for them are zero there.
pub const FORMAT_VERSION: u32 = 2;
/// Oldest format version that is read.
const OLDEST_VERSION: u32 = 1;
/// Upper bound of all numbers that grow with use: epochs, records, objects, positions in the log.
/// Additions to them never overflow.
const MAX_GROWN: u64 = 1 << 62;
/// Largest number of blocks in a pool: addresses have 40 bits.
const MAX_BLOCKS: u64 = 1 << 40;
/// Largest number of upper index pages; each covers 2 TiB of pool.
pub const MAX_GROUPS: usize = 256;

const _: () = assert!(size_of::<TreeRoot>() == 24);

/// Root of one tree, an internal stream of the pool. 24 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct TreeRoot {
    /// Page address; 0 = empty.
    address: U64,
    /// CRC-32C of the page.
    crc: U32,
    /// Level of the page.
    level: u8,
    reserved: [u8; 3],
    /// Length of the stream in bytes.
    length: U64,
}

impl TreeRoot {
    /// Creates a root. `page`: root page; `length`: length of the stream in bytes.
    pub fn new(page: Pointer, length: u64) -> Self {
        let Pointer { address, level, crc } = page;
        Self {
            address: U64::new(address.get()),
            crc: U32::new(crc.get()),
            level,
            reserved: [0; 3],
            length: U64::new(length),
        }
    }

    /// Pointer to the root page.
    pub fn pointer(&self) -> Pointer {
        Pointer { address: BlockAddress::new(self.address.get()), level: self.level, crc: Crc32c::new(self.crc.get()) }
    }

    /// Length of the stream in bytes.
    pub fn length(&self) -> u64 {
        self.length.get()
    }
}

/// Stored form of the documents. 16 bytes; zero for a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawIndex {
    /// Page of the top node; 0 = no entries.
    page: U32,
    /// Level of the top node.
    level: u8,
    /// Kind; 1: an index.
    kind: u8,
    reserved: [u8; 2],
    /// Number of entries of the index.
    entries: U64,
}
const _: () = assert!(size_of::<RawIndex>() == 16);

impl RawIndex {
    fn new(stored: Stored) -> Self {
        match stored {
            Stored::List => Self::default(),
            Stored::Index(IndexRoot { page, level, entries }) => {
                Self { page: U32::new(page), level, kind: 1, reserved: [0; 2], entries: U64::new(entries) }
            }
        }
    }

    /// Decodes the fields; `None` for values that no pool has.
    fn decode(&self) -> Option<Stored> {
        let (page, level, entries) = (self.page.get(), self.level, self.entries.get());
        let sane = page < PAGES && level <= MAX_LEVEL && entries < MAX_GROWN && (page == 0) == (entries == 0);
        match self.kind {
            0 => (*self == Self::default()).then_some(Stored::List),
            1 => sane.then_some(Stored::Index(IndexRoot { page, level, entries })),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RootHeader {
    magic: U64,
    version: U32,
    groups: U32,
    uuid: [u8; 16],
    epoch: U64,
    log_position: U64,
    log_sequence: U64,
    log_previous_crc: U64,
    next_object: U64,
    allocated_blocks: U64,
    metadata_blocks: U64,
    data_start: U64,
    data_end: U64,
    objects: TreeRoot,
    documents: TreeRoot,
    drops: TreeRoot,
    clean: u8,
    reserved: [u8; 7],
    index: RawIndex,
    allotments: TreeRoot,
    reserved_after_allotments: [u8; 16],
}

/// Verifies level and length of the stream of the documents: everything that is stored there relies
/// on them.
fn check_documents(tree: &TreeRoot, stored: Stored) -> Result<(), String> {
    if !tree.pointer().is_empty() && tree.level != STREAM_LEVEL {
        return Err(format!("the root gives the map of the documents level {}", tree.level));
    }
    let length = tree.length();
    if stored != Stored::List && geometry::blocks_for(length) > u64::from(PAGES) {
        return Err(format!("the root gives the index of the documents a length of {length} bytes"));
    }
    Ok(())
}

/// Offsets as in docs/on-disk-format.md.
const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(RootHeader, magic) == 0);
    assert!(offset_of!(RootHeader, version) == 8);
    assert!(offset_of!(RootHeader, groups) == 12);
    assert!(offset_of!(RootHeader, uuid) == 16);
    assert!(offset_of!(RootHeader, epoch) == 32);
    assert!(offset_of!(RootHeader, log_position) == 40);
    assert!(offset_of!(RootHeader, log_sequence) == 48);
    assert!(offset_of!(RootHeader, log_previous_crc) == 56);
    assert!(offset_of!(RootHeader, next_object) == 64);
    assert!(offset_of!(RootHeader, allocated_blocks) == 72);
    assert!(offset_of!(RootHeader, metadata_blocks) == 80);
    assert!(offset_of!(RootHeader, data_start) == 88);
    assert!(offset_of!(RootHeader, data_end) == 96);
    assert!(offset_of!(RootHeader, objects) == 104);
    assert!(offset_of!(RootHeader, documents) == 128);
    assert!(offset_of!(RootHeader, drops) == 152);
    assert!(offset_of!(RootHeader, clean) == 176);
    assert!(offset_of!(RootHeader, index) == 184);
    assert!(offset_of!(RootHeader, allotments) == 200);
};
const _: () = assert!(size_of::<RootHeader>() == 240);
const _: () = assert!(size_of::<RootHeader>() + MAX_GROUPS * size_of::<SlotEntry>() <= media::MAX_ROOT_BYTES);

/// Content of a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Identity of the pool.
    pub uuid: [u8; 16],
    /// Epoch of the checkpoint.
    pub epoch: u64,
    /// Position in the log from which recovery replays, in bytes; it only grows.
    pub log_position: u64,
    /// Sequence number of the first record there.
    pub log_sequence: u64,
    /// CRC-64 of the frame before that position.
    pub log_previous_crc: Crc64,
    /// Smallest object id never used.
    pub next_object: ObjectId,
    /// Number of blocks whose count is not zero.
    pub allocated_blocks: u64,
    /// Number of them that hold map pages and catalog.
    pub metadata_blocks: u64,
    /// First block of the data area.
    pub data_start: BlockAddress,
    /// First block after it.
    pub data_end: BlockAddress,
    /// Object table.
    pub objects: TreeRoot,
    /// Stream of the documents.
    pub documents: TreeRoot,
    /// Stored form of that stream.
    pub stored_documents: Stored,
    /// Drop queue.
    pub drops: TreeRoot,
    /// Table of allotments.
    pub allotments: TreeRoot,
    /// True if the log held no record to replay at the checkpoint (clean shutdown).
    pub clean: bool,
    /// Upper space index.
    pub groups: Vec<SlotEntry>,
}

impl Root {
    /// Encodes the root for the superblock.
    pub fn encode(&self) -> Vec<u8> {
        let header = RootHeader {
            magic: U64::new(ROOT_MAGIC),
            version: U32::new(FORMAT_VERSION),
            groups: U32::new(self.groups.len() as u32),
            uuid: self.uuid,
            epoch: U64::new(self.epoch),
            log_position: U64::new(self.log_position),
            log_sequence: U64::new(self.log_sequence),
            log_previous_crc: U64::new(self.log_previous_crc.get()),
            next_object: U64::new(self.next_object.0),
            allocated_blocks: U64::new(self.allocated_blocks),
            metadata_blocks: U64::new(self.metadata_blocks),
            data_start: U64::new(self.data_start.get()),
            data_end: U64::new(self.data_end.get()),
            objects: self.objects,
            documents: self.documents,
            drops: self.drops,
            clean: u8::from(self.clean),
            reserved: [0; 7],
            index: RawIndex::new(self.stored_documents),
            allotments: self.allotments,
            reserved_after_allotments: [0; 16],
        };
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(self.groups.as_bytes());
        bytes
    }

    /// Parses an encoded root. The error describes the problem.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let (header, rest) =
            RootHeader::read_from_prefix(bytes).map_err(|_| "the pool's root is too short".to_string())?;
        if header.magic.get() != ROOT_MAGIC {
            return Err("the root is not of a Windlass pool".into());
        }
        let version = header.version.get();
        if !(OLDEST_VERSION..=FORMAT_VERSION).contains(&version) {
            return Err(format!(
                "the pool has format version {version}, and this program reads versions {OLDEST_VERSION} to {FORMAT_VERSION}: use a newer release"
            ));
        }
        let count = header.groups.get() as usize;
        let groups = rest
            .get(..count.saturating_mul(size_of::<SlotEntry>()))
            .and_then(|b| <[SlotEntry]>::ref_from_bytes(b).ok())
            .ok_or("the pool's root is too short")?
            .to_vec();
        let stored_documents = header.index.decode().ok_or("the pool's root says of its documents what no pool has")?;
        let grown = [&header.epoch, &header.log_position, &header.log_sequence, &header.next_object];
        let blocks = [&header.allocated_blocks, &header.metadata_blocks, &header.data_start, &header.data_end];
        let sane = grown.iter().all(|number| number.get() < MAX_GROWN)
            && blocks.iter().all(|number| number.get() <= MAX_BLOCKS)
            && [&header.objects, &header.documents, &header.drops, &header.allotments]
                .iter()
                .all(|tree| tree.level <= geometry::MAX_LEVEL)
            && header.allotments.length() <= MAX_TABLE_BYTES
            && header.log_position.get().is_multiple_of(media::BLOCK_BYTES as u64);
        if !sane {
            return Err("the pool's root has numbers that no pool has".into());
        }
        check_documents(&header.documents, stored_documents)?;
        Ok(Self {
            uuid: header.uuid,
            epoch: header.epoch.get(),
            log_position: header.log_position.get(),
            log_sequence: header.log_sequence.get(),
            log_previous_crc: Crc64::new(header.log_previous_crc.get()),
            next_object: ObjectId(header.next_object.get()),
            allocated_blocks: header.allocated_blocks.get(),
            metadata_blocks: header.metadata_blocks.get(),
            data_start: BlockAddress::new(header.data_start.get()),
            data_end: BlockAddress::new(header.data_end.get()),
            objects: header.objects,
            documents: header.documents,
            stored_documents,
            drops: header.drops,
            allotments: header.allotments,
            clean: header.clean != 0,
            groups,
        })
    }
}
