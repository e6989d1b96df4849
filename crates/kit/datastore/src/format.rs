//! The payloads of the metadata sectors.

use crate::sector::{PAYLOAD_BYTES, Payload};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Format version that this program writes and reads.
pub(crate) const VERSION: u32 = 1;
/// Longest name of a file, in bytes.
pub(crate) const NAME_BYTES: usize = 200;
/// Longest name of a host or a datastore, in bytes.
pub(crate) const LABEL_BYTES: usize = 64;

macro_rules! payload {
    ($type:ident, $kind:literal) => {
        impl Payload for $type {
            const KIND: u8 = $kind;
        }
        const _: () = assert!(size_of::<$type>() == PAYLOAD_BYTES);
    };
}

/// Header of the datastore, stored twice.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) version: U32,
    pub(crate) uuid: [u8; 16],
    pub(crate) name: [u8; LABEL_BYTES],
    pub(crate) created: U64,
    /// Logical blocks in a block of the datastore.
    pub(crate) block_sectors: U32,
    /// Number of data blocks.
    pub(crate) blocks: U32,
    /// Number of heartbeat slots.
    pub(crate) hosts: U32,
    /// Number of file records.
    pub(crate) files: U32,
    reserved: [u8; 384],
}
payload!(Header, 1);

/// Heartbeat slot: one host that has the datastore mounted.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Heartbeat {
    /// 1 while a host has the slot.
    pub(crate) live: u8,
    zero: [u8; 3],
    /// Number of hosts that have had the slot; a lock names slot and generation.
    pub(crate) generation: U32,
    /// Number of renewals.
    pub(crate) beat: U64,
    pub(crate) host: [u8; LABEL_BYTES],
    /// Time of the last renewal in seconds since 1970, for display.
    pub(crate) renewed: U64,
    reserved: [u8; 404],
}
payload!(Heartbeat, 2);

/// A lock.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Lock {
    /// Heartbeat slot of the owner plus 1; 0 when the lock is free.
    pub(crate) owner: U32,
    pub(crate) generation: U32,
    /// Time of taking in seconds since 1970, for display.
    pub(crate) taken: U64,
    reserved: [u8; 476],
}
payload!(Lock, 3);

/// Owner of a lock: a host, for as long as it has its heartbeat slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl Lock {
    pub(crate) fn owner(&self) -> Option<Owner> {
        let slot = self.owner.get().checked_sub(1)?;
        Some(Owner { slot, generation: self.generation.get() })
    }

    pub(crate) fn held(owner: Owner, now: u64) -> Self {
        let mut lock = Self::new_zeroed();
        lock.owner = (owner.slot + 1).into();
        lock.generation = owner.generation.into();
        lock.taken = now.into();
        lock
    }
}

/// State of a [`File`].
pub(crate) mod state {
    pub(crate) const FREE: u8 = 0;
    /// Created, but not filled yet; garbage once its lock is free.
    pub(crate) const CREATING: u8 = 1;
    pub(crate) const LIVE: u8 = 2;
    /// Being deleted.
    pub(crate) const DELETING: u8 = 3;
    /// Interrupted copy, kept so that it can be continued.
    pub(crate) const PARTIAL: u8 = 4;
}

/// Record of a file.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct File {
    pub(crate) state: u8,
    /// A [`crate::DiskFormat`].
    pub(crate) format: u8,
    /// 1 when other disks are, or were, based on it. 2 while its child is committed into it; only
    /// the child shows valid content.
    pub(crate) frozen: u8,
    pub(crate) name_bytes: u8,
    /// Number of files that have had the record.
    pub(crate) generation: U32,
    /// Record of the parent disk plus 1; 0 for none.
    pub(crate) parent: U32,
    pub(crate) parent_generation: U32,
    pub(crate) size: U64,
    pub(crate) created: U64,
    pub(crate) modified: U64,
    /// Number of touches.
    pub(crate) touched: U64,
    pub(crate) name: [u8; NAME_BYTES],
    /// Bytes copied so far, from the beginning of the disk; partial files only.
    pub(crate) copied: U64,
    /// Source as a [`crate::SourceMark`]; partial files only.
    pub(crate) source: [u8; 32],
    reserved: [u8; 204],
}
payload!(File, 4);

/// Identity of a file: record and generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId {
    pub(crate) record: u32,
    pub(crate) generation: u32,
}

impl File {
    pub(crate) fn name(&self) -> String {
        String::from_utf8_lossy(self.name.get(..usize::from(self.name_bytes)).unwrap_or_default()).into_owned()
    }

    pub(crate) fn set_name(&mut self, name: &str) {
        self.name_bytes = u8::try_from(name.len().min(NAME_BYTES)).unwrap_or(0);
        self.name = [0; NAME_BYTES];
        for (to, from) in self.name.iter_mut().zip(name.bytes()) {
            *to = from;
        }
    }

    pub(crate) fn parent(&self) -> Option<FileId> {
        let record = self.parent.get().checked_sub(1)?;
        Some(FileId { record, generation: self.parent_generation.get() })
    }

    pub(crate) fn set_parent(&mut self, parent: Option<FileId>) {
        self.parent = parent.map_or(0, |id| id.record + 1).into();
        self.parent_generation = parent.map_or(0, |id| id.generation).into();
    }
}

/// Pointers in a sector.
pub(crate) const POINTERS: usize = 123;

/// Block pointers of a file.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Pointers {
    /// See [`Pointer`].
    pub(crate) entries: [U32; POINTERS],
}
payload!(Pointers, 5);

/// Pointer to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pointer {
    /// No block: reads as zeros, or shows the disk below.
    Hole,
    /// A block that must be zeroed before use: reads as zeros.
    ToBeZeroed(u32),
    /// A block with data.
    Data(u32),
}

const TO_BE_ZEROED: u32 = 1 << 31;
/// Number of blocks that a pointer can address.
pub(crate) const MAX_BLOCKS: u32 = TO_BE_ZEROED - 1;

impl Pointer {
    pub(crate) fn unpack(value: u32) -> Self {
        match (value & !TO_BE_ZEROED).checked_sub(1) {
            None => Self::Hole,
            Some(block) if value & TO_BE_ZEROED != 0 => Self::ToBeZeroed(block),
            Some(block) => Self::Data(block),
        }
    }

    pub(crate) fn pack(self) -> u32 {
        match self {
            Self::Hole => 0,
            Self::ToBeZeroed(block) => (block + 1) | TO_BE_ZEROED,
            Self::Data(block) => block + 1,
        }
    }

    pub(crate) fn block(self) -> Option<u32> {
        match self {
            Self::Hole => None,
            Self::ToBeZeroed(block) | Self::Data(block) => Some(block),
        }
    }
}

/// Blocks that one sector of the allocation table describes.
pub(crate) const ALLOCATIONS: usize = 61;

/// Owners of blocks.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Allocations {
    /// See [`Allocation`].
    pub(crate) entries: [U64; ALLOCATIONS],
    reserved: [u8; 4],
}
payload!(Allocations, 6);

/// Owner and purpose of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) record: u32,
    /// Low 16 bits of the file's generation.
    pub(crate) generation: u16,
    /// Number of the block in its file; from [`Self::POINTER_BLOCK`] on, number of a block of
    /// pointers.
    pub(crate) index: u32,
}

impl Allocation {
    const RECORD_BITS: u32 = 20;
    const INDEX_BITS: u32 = 28;
    /// Largest number of file records that an allocation can name.
    pub(crate) const MAX_FILES: u32 = (1 << Self::RECORD_BITS) - 1;
    /// First number of the blocks of pointers.
    pub(crate) const POINTER_BLOCK: u32 = (1 << Self::INDEX_BITS) - 4096;

    pub(crate) fn of(file: FileId, index: u32) -> Self {
        Self { record: file.record, generation: (file.generation & 0xffff) as u16, index }
    }

    pub(crate) fn is_of(&self, file: FileId) -> bool {
        *self == Self::of(file, self.index)
    }

    pub(crate) fn pack(self) -> u64 {
        u64::from(self.record + 1) << 44 | u64::from(self.generation) << 28 | u64::from(self.index)
    }

    pub(crate) fn unpack(value: u64) -> Option<Self> {
        let record = u32::try_from(value >> 44).ok()?.checked_sub(1)?;
        let generation = u16::try_from(value >> 28 & 0xffff).ok()?;
        Some(Self { record, generation, index: u32::try_from(value & 0x0fff_ffff).ok()? })
    }
}

/// Encodes a label into its field; cuts it at a character boundary.
pub(crate) fn label(text: &str) -> [u8; LABEL_BYTES] {
    let mut field = [0; LABEL_BYTES];
    let mut end = text.len().min(LABEL_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (to, from) in field.iter_mut().zip(text.bytes().take(end)) {
        *to = from;
    }
    field
}

/// Decodes the label in a field.
pub(crate) fn text(field: &[u8; LABEL_BYTES]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(LABEL_BYTES);
    String::from_utf8_lossy(field.get(..end).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_values_unpack_unchanged() {
        for pointer in [Pointer::Hole, Pointer::Data(0), Pointer::ToBeZeroed(0), Pointer::Data(MAX_BLOCKS - 1)] {
            assert_eq!(Pointer::unpack(pointer.pack()), pointer);
        }
        let last = FileId { record: Allocation::MAX_FILES - 1, generation: 0x1_2345 };
        for (file, index) in [(FileId { record: 0, generation: 0 }, 0), (last, Allocation::POINTER_BLOCK + 4095)] {
            let allocation = Allocation::of(file, index);
            assert_eq!(Allocation::unpack(allocation.pack()), Some(allocation));
            assert!(allocation.is_of(file));
        }
        assert_eq!(Allocation::unpack(0), None);
        assert_eq!(text(&label("höst")), "höst");
        assert_eq!(text(&label(&"ö".repeat(40))).chars().count(), 32);
    }
}
