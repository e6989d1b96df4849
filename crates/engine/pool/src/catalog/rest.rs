//! Objects at rest: those without changes for the next checkpoint, in 24 bytes each. Most objects
//! of a large pool are unused for a long time, and all of them stay in memory.
//!
//! An object at rest keeps what the object table stores for an object that has no reservation and no ceiling, and is
//! no replica, except the counts of shared blocks and due pages, which have a meaning for tracked objects only. Locks
//! stand apart: few objects have one.

use crate::catalog::object::{Object, Protection};
use crate::catalog::stream::{SLOTS_PER_BLOCK, table_block_of};
use crate::checksum::Crc32c;
use crate::geometry::{MAX_LEVEL, NARROW_LEVEL};
use crate::interface::operation::{ADDRESS_SPACE_BYTES, MAX_VOLUME_BYTES};
use crate::interface::range::BlockNumber;
use crate::interface::{Hour, ObjectId, ObjectKind};
use media::BlockAddress;
use std::collections::BTreeMap;

/// Bytes of a logical block; the size of an object at rest is a multiple of it.
const SECTOR_BYTES: u64 = 512;
/// Bits of [`Entry::head`] that hold the kind.
const KIND: u8 = 0b11;
/// First of the two bits that hold the level of the root page; with [`WIDE`] they count from the first level above
/// [`NARROW_LEVEL`].
const LEVEL_SHIFT: u32 = 2;
/// The root is above [`NARROW_LEVEL`].
const WIDE: u8 = 1 << 7;
const WRITE_CACHE: u8 = 1 << 4;
const ZERO_DETECTION: u8 = 1 << 5;
const UNREPORTED: u8 = 1 << 6;

/// Object without its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// Kind, level of the root page, flags.
    head: u8,
    /// Size in logical blocks, or [`ADDRESS_SPACE`].
    size: [u8; 5],
    parent: [u8; 4],
    /// Address of the root page.
    root: [u8; 5],
    /// CRC-32C of the root page.
    root_crc: [u8; 4],
    /// Number of mapped blocks.
    mapped: [u8; 5],
}
const _: () = assert!(size_of::<Entry>() == 24);
const _: () = assert!(NARROW_LEVEL == 3 && MAX_LEVEL == 5);

/// Size of an address space in [`Entry::size`]; no volume is that large.
const ADDRESS_SPACE: [u8; 5] = [u8::MAX; 5];
const _: () = assert!(MAX_VOLUME_BYTES / SECTOR_BYTES < (1 << 40) - 1);

/// Returns the low bytes of a number if the others are zero.
fn narrow<const N: usize>(number: u64) -> Option<[u8; N]> {
    let bytes = number.to_le_bytes();
    let (low, high) = bytes.split_first_chunk::<N>()?;
    high.iter().all(|byte| *byte == 0).then_some(*low)
}

fn wide<const N: usize>(bytes: [u8; N]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Entry {
    /// Returns `None` if the object has state that an entry does not hold.
    fn of(object: &Object) -> Option<Self> {
        let kept = object.tracked || object.reservation.is_some() || object.in_flight > 0 || object.deficit > 0;
        let kept = kept || object.ceiling_bytes.is_some() || object.is_replica();
        if kept || object.level > MAX_LEVEL || !object.size_bytes.is_multiple_of(SECTOR_BYTES) {
            return None;
        }
        let kind = match object.kind {
            ObjectKind::Volume => 1,
            ObjectKind::Snapshot => 2,
            ObjectKind::Capture => 3,
        };
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        Some(Self {
            head: kind
                | (object.level & 0b11) << LEVEL_SHIFT
                | flag(object.level > NARROW_LEVEL, WIDE)
                | flag(object.write_cache, WRITE_CACHE)
                | flag(object.zero_detection, ZERO_DETECTION)
                | flag(object.unreported, UNREPORTED),
            size: match object.size_bytes {
                ADDRESS_SPACE_BYTES => ADDRESS_SPACE,
                size_bytes => narrow(size_bytes / SECTOR_BYTES)?,
            },
            parent: narrow(object.parent.unwrap_or(ObjectId::NONE).0)?,
            root: narrow(object.root.get())?,
            root_crc: object.root_crc.get().to_le_bytes(),
            mapped: narrow(object.mapped)?,
        })
    }

    fn object(&self, id: ObjectId) -> Object {
        let size_bytes = match self.size {
            ADDRESS_SPACE => ADDRESS_SPACE_BYTES,
            sectors => wide(sectors) * SECTOR_BYTES,
        };
        Object {
            kind: match self.head & KIND {
                1 => ObjectKind::Volume,
                2 => ObjectKind::Snapshot,
                _ => ObjectKind::Capture,
            },
            parent: Some(ObjectId(wide(self.parent))).filter(|parent| *parent != ObjectId::NONE),
            root: BlockAddress::new(wide(self.root)),
            root_crc: Crc32c::new(u32::from_le_bytes(self.root_crc)),
            level: (self.head >> LEVEL_SHIFT & 0b11) + if self.head & WIDE != 0 { NARROW_LEVEL + 1 } else { 0 },
            mapped: wide(self.mapped),
            write_cache: self.head & WRITE_CACHE != 0,
            zero_detection: self.head & ZERO_DETECTION != 0,
            unreported: self.head & UNREPORTED != 0,
            ..Object::new(id, size_bytes)
        }
    }
}

/// Objects of one block of the object table.
#[derive(Default)]
struct Block {
    /// Slots of objects at rest, a bit each.
    slots: u64,
    /// Objects in the order of their slots.
    entries: Vec<Entry>,
}
const _: () = assert!(SLOTS_PER_BLOCK == u64::BITS as u64);

impl Block {
    /// Index of the object in a slot, or of the next one if the slot is empty.
    fn index(&self, slot: u32) -> usize {
        (self.slots & ((1 << slot) - 1)).count_ones() as usize
    }

    fn has(&self, slot: u32) -> bool {
        self.slots >> slot & 1 != 0
    }

    fn get(&self, slot: u32) -> Option<&Entry> {
        self.entries.get(self.index(slot)).filter(|_| self.has(slot))
    }

    /// Used slots, ascending.
    fn used(&self) -> impl Iterator<Item = u32> + use<> {
        let mut left = self.slots;
        std::iter::from_fn(move || {
            let slot = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (slot < u64::BITS).then_some(slot)
        })
    }
}

/// Set of objects at rest.
#[derive(Default)]
pub(crate) struct AtRest {
    blocks: BTreeMap<BlockNumber, Block>,
    count: usize,
    /// Ends of the locks of objects at rest.
    locks: BTreeMap<ObjectId, Hour>,
}

/// Protection of an object at rest with this lock.
fn protection_of(lock: Option<Hour>) -> Protection {
    lock.map_or(Protection::None, Protection::Locked)
}

/// Block of the object table and slot of an object.
const fn place(id: ObjectId) -> (BlockNumber, u32) {
    (table_block_of(id), (id.0 % SLOTS_PER_BLOCK) as u32)
}

impl AtRest {
    /// Number of objects.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    #[cfg(test)]
    pub fn contains(&self, id: ObjectId) -> bool {
        let (block, slot) = place(id);
        self.blocks.get(&block).is_some_and(|block| block.has(slot))
    }

    pub fn get(&self, id: ObjectId) -> Option<Object> {
        let (block, slot) = place(id);
        self.blocks.get(&block)?.get(slot).map(|entry| self.object(entry, id))
    }

    /// Object of an entry, with its lock.
    fn object(&self, entry: &Entry, id: ObjectId) -> Object {
        let lock = if self.locks.is_empty() { None } else { self.locks.get(&id).copied() };
        Object { protection: protection_of(lock), ..entry.object(id) }
    }

    /// Adds an object that is not in the set. False, without effect, if it has state that an object
    /// at rest does not keep.
    pub fn insert(&mut self, object: &Object) -> bool {
        let Some(entry) = Entry::of(object) else { return false };
        let (block, slot) = place(object.id);
        let block = self.blocks.entry(block).or_default();
        debug_assert!(!block.has(slot));
        block.entries.insert(block.index(slot), entry);
        block.slots |= 1 << slot;
        self.count += 1;
        self.locks.extend(object.locked_until().map(|until| (object.id, until)));
        true
    }

    /// Adds objects, ascending, of a block of the object table that has none in the set. Returns
    /// those that have state that an object at rest does not keep.
    pub fn insert_block<'a>(&mut self, number: BlockNumber, objects: &'a [Object]) -> Vec<&'a Object> {
        let (mut block, mut refused) = (Block::default(), Vec::new());
        block.entries.reserve_exact(objects.len());
        for object in objects {
            match Entry::of(object) {
                Some(entry) => {
                    block.entries.push(entry);
                    block.slots |= 1 << place(object.id).1;
                    self.locks.extend(object.locked_until().map(|until| (object.id, until)));
                }
                None => refused.push(object),
            }
        }
        if !block.entries.is_empty() {
            self.count += block.entries.len();
            self.blocks.insert(number, block);
        }
        refused
    }

    /// Removes an object.
    pub fn take(&mut self, id: ObjectId) -> Option<Object> {
        let (number, slot) = place(id);
        let block = self.blocks.get_mut(&number)?;
        if !block.has(slot) {
            return None;
        }
        let entry = block.entries.remove(block.index(slot));
        block.slots &= !(1 << slot);
        self.count -= 1;
        if block.entries.is_empty() {
            self.blocks.remove(&number);
        } else if block.entries.capacity() > 2 * block.entries.len() + 4 {
            block.entries.shrink_to_fit();
        }
        Some(Object { protection: protection_of(self.locks.remove(&id)), ..entry.object(id) })
    }

    /// Notes that the change of an object was reported.
    pub fn note_reported(&mut self, id: ObjectId) {
        let (block, slot) = place(id);
        if let Some(block) = self.blocks.get_mut(&block).filter(|block| block.has(slot)) {
            let index = block.index(slot);
            block.entries[index].head &= !UNREPORTED;
        }
    }

    /// Objects in a block of the object table, ascending.
    pub fn in_block(&self, number: BlockNumber) -> impl Iterator<Item = Object> {
        let block = self.blocks.get(&number);
        block.into_iter().flat_map(move |block| {
            let ids = block.used().map(move |slot| ObjectId(number.get() * SLOTS_PER_BLOCK + u64::from(slot)));
            ids.zip(&block.entries).map(|(id, entry)| self.object(entry, id))
        })
    }

    /// Ids from `from` on, ascending.
    pub fn ids(&self, from: ObjectId) -> impl Iterator<Item = ObjectId> {
        let ids = |(number, block): (&BlockNumber, &Block)| {
            let first = number.get() * SLOTS_PER_BLOCK;
            block.used().map(move |slot| ObjectId(first + u64::from(slot)))
        };
        self.blocks.range(place(from).0..).flat_map(ids).skip_while(move |id| *id < from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Reservation;

    fn largest(id: ObjectId) -> Object {
        Object {
            kind: ObjectKind::Capture,
            parent: Some(ObjectId(crate::catalog::stream::MAX_OBJECT.0 - 1)),
            root: BlockAddress::new((1 << 40) - 1),
            root_crc: Crc32c::new(u32::MAX),
            mapped: crate::geometry::blocks_for(MAX_VOLUME_BYTES),
            write_cache: true,
            zero_detection: false,
            unreported: true,
            ..Object::new(id, MAX_VOLUME_BYTES)
        }
    }

    fn small(id: ObjectId, kind: ObjectKind) -> Object {
        Object {
            kind,
            root: BlockAddress::new(77),
            root_crc: Crc32c::new(1),
            mapped: 1,
            ..Object::new(id, SECTOR_BYTES)
        }
    }

    #[test]
    fn objects_come_back_as_they_were() {
        let mut objects = vec![
            largest(ObjectId(16)),
            Object::new(ObjectId(17), 1 << 30),
            largest(ObjectId(63)),
            largest(ObjectId(64)),
            largest(ObjectId((1 << 30) - 1)),
        ];
        let kinds = [ObjectKind::Volume, ObjectKind::Snapshot, ObjectKind::Capture];
        objects.extend((100..).zip(kinds).map(|(id, kind)| small(ObjectId(id), kind)));
        objects.push(Object { mapped: (1 << 40) - 1, ..Object::new(ObjectId(103), ADDRESS_SPACE_BYTES) });
        // A volume that has shrunk keeps the level of its root.
        let shrunk = |(id, level)| Object { level, ..small(ObjectId(id), ObjectKind::Volume) };
        objects.extend((104..).zip(0..=MAX_LEVEL).map(shrunk));
        objects
            .push(Object { protection: Protection::Locked(Hour::MAX), ..small(ObjectId(200), ObjectKind::Snapshot) });
        let mut at_rest = AtRest::default();
        for object in objects.iter().rev() {
            assert!(at_rest.insert(object));
        }
        let ids: Vec<ObjectId> = objects.iter().map(|object| object.id).collect();
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        assert_eq!(at_rest.ids(ObjectId(0)).collect::<Vec<_>>(), sorted);
        assert_eq!(at_rest.ids(ObjectId(64)).next(), Some(ObjectId(64)));
        assert_eq!(at_rest.ids(ObjectId(65)).next(), Some(ObjectId(100)));
        assert_eq!(
            at_rest.in_block(BlockNumber::FIRST).map(|object| object.id).collect::<Vec<_>>(),
            [16, 17, 63].map(ObjectId)
        );
        assert_eq!(at_rest.len(), objects.len());
        for object in &objects {
            assert_eq!(at_rest.get(object.id).as_ref(), Some(object));
            assert_eq!(at_rest.take(object.id).as_ref(), Some(object));
            assert!(!at_rest.contains(object.id) && at_rest.take(object.id).is_none());
        }
        assert_eq!((at_rest.len(), at_rest.blocks.len(), at_rest.locks.len()), (0, 0, 0));
    }

    #[test]
    fn state_that_an_entry_does_not_hold_keeps_an_object_in_use() {
        let mut at_rest = AtRest::default();
        let one = || Object::new(ObjectId(16), 1 << 20);
        let refused = [
            Object { reservation: Some(Reservation { overwrite_percent: 0 }), ..one() },
            Object { tracked: true, ..one() },
            Object { in_flight: 1, ..one() },
            Object { deficit: 1, ..one() },
            Object { size_bytes: 513, ..one() },
            Object { parent: Some(ObjectId(1 << 32)), ..one() },
            Object { root: BlockAddress::new(1 << 40), ..one() },
            Object { mapped: 1 << 40, ..one() },
            Object { level: MAX_LEVEL + 1, ..one() },
        ];
        for object in refused {
            assert!(!at_rest.insert(&object), "{object:?}");
        }
        assert_eq!(at_rest.len(), 0);
        assert!(at_rest.insert(&one()));
    }

    #[test]
    fn a_reported_change_is_forgotten_at_rest() {
        let mut at_rest = AtRest::default();
        at_rest.insert(&largest(ObjectId(20)));
        at_rest.note_reported(ObjectId(20));
        at_rest.note_reported(ObjectId(21));
        assert_eq!(at_rest.get(ObjectId(20)), Some(Object { unreported: false, ..largest(ObjectId(20)) }));
    }
}
