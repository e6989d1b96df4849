//! Stored form of the allotments: a stream of slots of 64 bytes, 64 in a block. An allotment keeps its slot.
//!
//! ```text
//! object (8), 0: the slot is empty | first block (8) | blocks (8) | mapped blocks (8) |
//! of these, at most: shared (8) | map pages still to be allocated, at most (8) |
//! blocks beside the range (4) | 4 zero |
//! due blocks without a promise (8)
//! ```

use super::allotment::{Allotment, MOST_ALLOTMENTS, pages_of};
use crate::catalog::is_user_object;
use crate::interface::ObjectId;
use crate::interface::operation::ADDRESS_SPACE_BYTES;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::log::cursor::Cursor;
use media::BLOCK_BYTES;
use std::collections::BTreeSet;

/// Bytes of a slot.
const SLOT_BYTES: usize = 64;
/// Slots in a block.
const SLOTS_PER_BLOCK: usize = BLOCK_BYTES / SLOT_BYTES;
/// Longest stored table in bytes.
pub(crate) const MAX_TABLE_BYTES: u64 = (2 * MOST_ALLOTMENTS * SLOT_BYTES) as u64;

/// Object and first block of an allotment.
type Key = (ObjectId, BlockNumber);
/// Number of a block of the table, and its content.
type Changed = (BlockNumber, Box<[u8; BLOCK_BYTES]>);

/// Slots of the table, and the blocks of it that have changed.
#[derive(Default)]
pub(crate) struct Table {
    slots: Vec<Option<Key>>,
    free: BTreeSet<u32>,
    changed: BTreeSet<usize>,
}

impl Table {
    /// Number of slots in use.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Number of blocks of the table.
    #[inline]
    pub fn blocks(&self) -> u64 {
        self.slots.len().div_ceil(SLOTS_PER_BLOCK) as u64
    }

    /// Number of blocks of the table with `more` allotments.
    pub fn blocks_with(&self, more: usize) -> u64 {
        (self.slots.len() + more.saturating_sub(self.free.len())).div_ceil(SLOTS_PER_BLOCK) as u64
    }

    /// Largest number of allotments that releases may leave, which cut one into two.
    pub fn most(&self) -> usize {
        2 * MOST_ALLOTMENTS
    }

    /// Blocks that a freeze has to write.
    pub fn changed_blocks(&self) -> impl Iterator<Item = BlockNumber> {
        self.changed.iter().map(|block| BlockNumber::new(*block as u64))
    }

    /// Gives an allotment a slot; `None` if there are too many.
    pub(super) fn take_slot(&mut self, key: Key) -> Option<u32> {
        let slot = match self.free.pop_first() {
            Some(slot) => slot,
            None if self.slots.len() < self.most() => self.slots.len() as u32,
            None => return None,
        };
        self.occupy(slot, key);
        self.note_changed(slot);
        Some(slot)
    }

    fn occupy(&mut self, slot: u32, key: Key) {
        let at = slot as usize;
        for unused in self.slots.len()..at {
            self.free.insert(unused as u32);
        }
        self.slots.resize(self.slots.len().max(at + 1), None);
        self.slots[at] = Some(key);
        self.free.remove(&slot);
    }

    /// Takes the slot of an allotment back.
    pub(super) fn give_slot(&mut self, slot: u32) {
        self.slots[slot as usize] = None;
        self.free.insert(slot);
        self.note_changed(slot);
    }

    /// Notes that the numbers of the allotment in a slot have changed.
    pub(super) fn note_changed(&mut self, slot: u32) {
        self.changed.insert(slot as usize / SLOTS_PER_BLOCK);
    }

    /// Takes over a slot of the stored table.
    pub(super) fn load_slot(&mut self, slot: u32, key: Key) {
        self.occupy(slot, key);
    }

    /// Takes the changed blocks, with their content.
    pub(super) fn take_changed(&mut self, find: impl Fn(Key) -> Option<Allotment>) -> Vec<Changed> {
        let encode = |block: usize| {
            let mut content = Box::new([0; BLOCK_BYTES]);
            let slots = self.slots.iter().skip(block * SLOTS_PER_BLOCK);
            for (key, bytes) in slots.zip(content.chunks_exact_mut(SLOT_BYTES)) {
                if let Some((key, allotment)) = key.and_then(|key| Some((key, find(key)?))) {
                    encode_slot(key, &allotment, bytes);
                }
            }
            (BlockNumber::new(block as u64), content)
        };
        std::mem::take(&mut self.changed).into_iter().map(encode).collect()
    }
}

fn encode_slot((object, first): Key, of: &Allotment, slot: &mut [u8]) {
    let numbers = [object.0, first.get(), of.count, of.mapped, of.shared, of.pages_due, of.beside, of.unpromised];
    for (bytes, number) in slot.chunks_exact_mut(8).zip(numbers) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
}

/// Decodes a stored table: object, range and numbers of each allotment.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<(ObjectId, BlockRange, Allotment)>, String> {
    let mut found = Vec::new();
    for (slot, bytes) in (0..).zip(bytes.chunks_exact(SLOT_BYTES)) {
        if bytes.iter().any(|byte| *byte != 0) {
            found.push(decode_slot(slot, bytes).ok_or_else(|| format!("malformed allotment in slot {slot}"))?);
        }
    }
    Ok(found)
}

fn decode_slot(slot: u32, bytes: &[u8]) -> Option<(ObjectId, BlockRange, Allotment)> {
    let mut cursor = Cursor(bytes);
    let object = ObjectId(cursor.u64()?);
    let range = BlockRange::new(BlockNumber::new(cursor.u64()?), cursor.u64()?);
    let (mapped, shared, pages_due) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
    let beside = u64::from(cursor.u32()?);
    cursor.take(4)?;
    let unpromised = cursor.u64()?;
    if !is_user_object(object) || !is_allottable(range) || mapped > range.count {
        return None;
    }
    // Upper bounds: the pool never promises more than this.
    let all = Allotment { mapped, slot, ..Allotment::new(range, mapped) }.all_shared(range, 100);
    let (shared, pages_due, beside) = (shared.min(mapped), pages_due.min(pages_of(range)), beside.min(all.beside));
    let found = Allotment { shared, pages_due, beside, ..all };
    Some((object, range, Allotment { unpromised: unpromised.min(found.blocks_due()), ..found }))
}

/// True for a range of blocks of an address space, at least one.
pub(crate) fn is_allottable(range: BlockRange) -> bool {
    let end = range.first.checked_add(range.count);
    range.count > 0 && end.is_some_and(|end| end.get() <= ADDRESS_SPACE_BYTES / BLOCK_BYTES as u64)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::catalog::allotments::Allotments;

    fn range(first: u64, count: u64) -> BlockRange {
        BlockRange::new(BlockNumber::new(first), count)
    }

    fn stored(allotments: &mut Allotments) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (block, content) in allotments.take_changed_blocks() {
            bytes.resize(bytes.len().max(block.offset() as usize + BLOCK_BYTES), 0);
            bytes[block.offset() as usize..][..BLOCK_BYTES].copy_from_slice(&content[..]);
        }
        bytes
    }

    #[test]
    fn the_table_survives_the_round_trip() {
        let mut allotments = Allotments::default();
        for number in 0..150 {
            allotments.put(ObjectId(16 + number % 3), range(number * 10, 5), Allotment::new(range(number * 10, 5), 2));
        }
        allotments.take(ObjectId(16), range(0, 5));
        allotments.share_all(ObjectId(17), 30);
        let bytes = stored(&mut allotments);
        assert_eq!(bytes.len(), 3 * BLOCK_BYTES);
        let mut loaded = Allotments::default();
        for (object, range, allotment) in decode(&bytes).unwrap() {
            loaded.load(object, range, allotment).unwrap();
        }
        let list = |all: &Allotments| {
            let mut list: Vec<_> = all.all().map(|(object, range, of)| (object, range, *of)).collect();
            list.sort_unstable_by_key(|(object, range, _)| (*object, *range));
            list
        };
        assert_eq!(list(&loaded), list(&allotments));
        assert_eq!((loaded.promised(), loaded.owed(), loaded.len()), (allotments.promised(), allotments.owed(), 149));
        // The freed slot is used again, and only its block changes.
        assert!(stored(&mut loaded).is_empty());
        loaded.put(ObjectId(16), range(9000, 1), Allotment::new(range(9000, 1), 0)).unwrap();
        assert_eq!(loaded.table().changed_blocks().collect::<Vec<_>>(), [BlockNumber::FIRST]);
    }

    #[test]
    fn what_no_allotment_has_is_refused() {
        let mut bytes = vec![0; SLOT_BYTES];
        let good = Allotment::new(range(5, 10), 3);
        encode_slot((ObjectId(16), BlockNumber::new(5)), &good, &mut bytes);
        assert_eq!(decode(&bytes).unwrap(), [(ObjectId(16), range(5, 10), good)]);
        for (at, value) in [(0, 3_u64), (8, 1 << 48), (16, 0), (16, u64::MAX), (24, 11)] {
            let mut bad = bytes.clone();
            bad[at..at + 8].copy_from_slice(&value.to_le_bytes());
            assert!(decode(&bad).is_err(), "{at} {value}");
        }
    }

    #[test]
    fn there_are_not_more_than_the_table_has_slots() {
        let mut allotments = Allotments::default();
        for number in 0..=allotments.table().most() as u64 {
            let range = range(number * 2, 1);
            let put = allotments.put(ObjectId(16), range, Allotment::new(range, 0));
            assert_eq!(put.is_some(), number < 2 * MOST_ALLOTMENTS as u64);
        }
    }
}
