//! Leaf of a directory: a slotted page. Offsets of the entries stand behind the head, in the order of the keys;
//! the entries themselves at the other end. An entry is key 8, fileid 5, kind 1, length of the name 1, name.

use crate::engine::Block;
use crate::layout::inode::{kind_number, kind_of};
use crate::layout::nodes::{HEAD, LEAF, NODE_BYTES, Place, begin, is_at, put, u16_at, u64_at};
use smallvec::{SmallVec, smallvec};
use std::borrow::{Borrow, BorrowMut};
use std::ops::Range;
use vfs::{FileId, Kind};

/// Bytes of an entry without its name.
const FIXED: usize = 15;
const SLOT: usize = 2;
/// Bytes of the longest entry with its slot.
pub(crate) const LONGEST: usize = FIXED + vfs::NAME_BYTES + SLOT;
/// Bytes for entries and slots.
pub(crate) const CAPACITY: usize = NODE_BYTES - HEAD;

/// Entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// Hash of the name and a number among equal ones; the cookie.
    pub key: u64,
    pub file: FileId,
    pub kind: Kind,
    pub name: &'a [u8],
}

/// Places of a node that a change has written.
pub(crate) type Written = SmallVec<[Range<usize>; 3]>;

/// Leaf whose head was checked.
#[derive(Clone, Debug)]
pub(crate) struct Leaf<B>(B);

impl<B: Borrow<Block>> Leaf<B> {
    /// Checks the head. Entries are checked when they are read.
    pub(crate) fn open(bytes: B, place: Place) -> Result<Self, ()> {
        let block: &Block = bytes.borrow();
        let is_leaf = is_at(block, place, LEAF) && block[1] == 0;
        if !is_leaf && (place.node != 0 || block.iter().any(|byte| *byte != 0)) {
            return Err(());
        }
        let leaf = Self(bytes);
        let slots_end = HEAD + leaf.count() * SLOT;
        if leaf.lowest() > NODE_BYTES || slots_end > leaf.lowest() {
            return Err(());
        }
        Ok(leaf)
    }

    /// Checks bounds, kinds and order.
    pub(crate) fn decode(bytes: B, place: Place) -> Result<Self, ()> {
        let leaf = Self::open(bytes, place)?;
        let mut last = 0;
        for index in 0..leaf.count() {
            let key = leaf.entry(index).ok_or(())?.key;
            if key <= last {
                return Err(());
            }
            last = key;
        }
        Ok(leaf)
    }

    fn block(&self) -> &Block {
        self.0.borrow()
    }

    pub(crate) fn count(&self) -> usize {
        usize::from(u16_at(self.block(), 2))
    }

    /// Start of the entries.
    fn lowest(&self) -> usize {
        match usize::from(u16_at(self.block(), 4)) {
            0 => NODE_BYTES,
            lowest => lowest,
        }
    }

    /// Entry by its index; `None` behind the last one, and if it is damaged.
    pub(crate) fn entry(&self, index: usize) -> Option<Entry<'_>> {
        if index >= self.count() {
            return None;
        }
        let at = usize::from(u16_at(self.block(), HEAD + index * SLOT));
        let fixed = self.block().get(at..at + FIXED).filter(|_| at >= self.lowest())?;
        let length = usize::from(fixed[14]);
        let name = self.block().get(at + FIXED..at + FIXED + length).filter(|name| !name.is_empty())?;
        let mut file = [0; 8];
        file[..5].copy_from_slice(&fixed[8..13]);
        let file = FileId(u64::from_le_bytes(file));
        Some(Entry { key: u64_at(fixed, 0), file, kind: kind_of(fixed[13])?, name })
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        (0..self.count()).map_while(|index| self.entry(index))
    }

    fn key(&self, index: usize) -> u64 {
        u64_at(self.block(), usize::from(u16_at(self.block(), HEAD + index * SLOT)))
    }

    /// Index of the first entry whose key is not smaller.
    pub(crate) fn position(&self, key: u64) -> usize {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) < key { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Bytes of all entries and slots.
    pub(crate) fn used(&self) -> usize {
        self.entries().map(|entry| size(&entry)).sum()
    }
}

fn size(entry: &Entry<'_>) -> usize {
    FIXED + entry.name.len() + SLOT
}

impl Leaf<Block> {
    /// Leaf without entries.
    pub(crate) fn new(place: Place) -> Self {
        Self(begin(place, LEAF, 0))
    }

    pub(crate) fn bytes(&self) -> &Block {
        &self.0
    }

    /// Copy of the leaf for another place, with its entries packed.
    pub(crate) fn at(&self, place: Place) -> Self {
        let mut leaf = Self::new(place);
        self.entries().for_each(|entry| leaf.push(&entry));
        leaf
    }

    /// Adds an entry behind all others, if there is room.
    fn push(&mut self, entry: &Entry<'_>) {
        let index = self.count();
        self.put(index, entry);
    }

    /// Adds an entry. `None` if there is no room.
    pub(crate) fn insert(&mut self, place: Place, entry: &Entry<'_>) -> Option<Written> {
        let fits = HEAD + self.count() * SLOT + size(entry) <= self.lowest();
        if !fits && self.used() + size(entry) > CAPACITY {
            return None;
        }
        let packed = !fits || self.block()[0] == 0;
        if packed {
            *self = self.at(place);
        }
        let index = self.position(entry.key);
        self.put(index, entry);
        if packed {
            return Some(smallvec![0..NODE_BYTES]);
        }
        let (slots, start) = (HEAD + index * SLOT..HEAD + self.count() * SLOT, self.lowest());
        Some(smallvec![0..HEAD, slots, start..start + FIXED + entry.name.len()])
    }

    /// Adds an entry at an index; there is room between slots and entries.
    fn put(&mut self, index: usize, entry: &Entry<'_>) {
        let (count, start) = (self.count(), self.lowest() - FIXED - entry.name.len());
        let block: &mut Block = self.0.borrow_mut();
        put(block, start, &entry.key.to_le_bytes());
        put(block, start + 8, &entry.file.0.to_le_bytes()[..5]);
        put(block, start + 13, &[kind_number(entry.kind), entry.name.len() as u8]);
        put(block, start + FIXED, entry.name);
        let slot = HEAD + index * SLOT;
        block.copy_within(slot..HEAD + count * SLOT, slot + SLOT);
        put(block, slot, &(start as u16).to_le_bytes());
        put(block, 2, &(count as u16 + 1).to_le_bytes());
        put(block, 4, &(start as u16).to_le_bytes());
    }

    /// Removes an entry; its bytes stay until the leaf is compacted.
    pub(crate) fn remove(&mut self, index: usize) {
        let count = self.count();
        if index >= count {
            return;
        }
        let slot = HEAD + index * SLOT;
        self.0.copy_within(slot + SLOT..HEAD + count * SLOT, slot);
        put(&mut self.0, HEAD + (count - 1) * SLOT, &[0, 0]);
        put(&mut self.0, 2, &(count as u16 - 1).to_le_bytes());
    }

    /// Gives an entry another file.
    pub(crate) fn set(&mut self, index: usize, file: FileId, kind: Kind) {
        let at = usize::from(u16_at(&self.0, HEAD + index * SLOT));
        put(&mut self.0, at + 8, &file.0.to_le_bytes()[..5]);
        put(&mut self.0, at + 13, &[kind_number(kind)]);
    }

    /// Moves the upper half, by bytes, to a new leaf. Each half takes any entry.
    pub(crate) fn split(&self, left: Place, right: Place) -> (Self, Self) {
        let (mut lower, mut upper) = (Self::new(left), Self::new(right));
        let (half, mut below) = (self.used() / 2, 0);
        for entry in self.entries() {
            let to = if below < half { &mut lower } else { &mut upper };
            to.push(&entry);
            below += size(&entry);
        }
        (lower, upper)
    }

    /// Both leaves as one, if they fit.
    pub(crate) fn merge(&self, right: &Self, place: Place) -> Option<Self> {
        if self.used() + right.used() > CAPACITY {
            return None;
        }
        let mut merged = self.at(place);
        right.entries().for_each(|entry| merged.push(&entry));
        Some(merged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use random::Random;
    use std::collections::BTreeMap;

    const PLACE: Place = Place { directory: FileId(20), node: 3 };

    fn names(leaf: &Leaf<Block>) -> Vec<(u64, Vec<u8>)> {
        leaf.entries().map(|entry| (entry.key, entry.name.to_vec())).collect()
    }

    #[test]
    fn a_leaf_is_a_sorted_map() {
        for seed in 0..20 {
            let random = Random::new(seed);
            let (mut leaf, mut model) = (Leaf::new(PLACE), BTreeMap::new());
            for _ in 0..400 {
                let key = 256 + random.below(200);
                let name = vec![b'n'; random.index(255) + 1];
                let position = leaf.position(key);
                if leaf.entry(position).is_some_and(|entry| entry.key == key) {
                    leaf.remove(position);
                    model.remove(&key);
                } else {
                    let room = leaf.used() + 17 + name.len() <= CAPACITY;
                    let entry = Entry { key, file: FileId(1 << 39), kind: Kind::Fifo, name: &name };
                    let mut before = *leaf.bytes();
                    let written = leaf.insert(PLACE, &entry);
                    assert_eq!(written.is_some(), room);
                    for range in written.into_iter().flatten() {
                        before[range.clone()].copy_from_slice(&leaf.bytes()[range]);
                    }
                    assert_eq!(before, *leaf.bytes(), "what changes is said");
                    if room {
                        model.insert(key, name);
                    }
                }
                assert_eq!(names(&leaf), model.clone().into_iter().collect::<Vec<_>>());
                assert!(Leaf::decode(leaf.bytes(), PLACE).is_ok());
            }
        }
    }

    #[test]
    fn halves_of_a_full_leaf_take_any_entry_and_merge_again() {
        for seed in 0..20 {
            let random = Random::new(seed);
            let mut leaf = Leaf::new(PLACE);
            let mut key = 256;
            loop {
                key += 2;
                let name = vec![b'n'; random.index(255) + 1];
                if leaf.insert(PLACE, &Entry { key, file: FileId(16), kind: Kind::File, name: &name }).is_none() {
                    break;
                }
            }
            let (left, right) = leaf.split(PLACE, Place { node: 4, ..PLACE });
            assert!(left.used() + LONGEST <= CAPACITY && right.used() + LONGEST <= CAPACITY);
            let all = [names(&left), names(&right)].concat();
            assert_eq!(all, names(&leaf));
            assert_eq!(left.merge(&right, PLACE).map(|merged| names(&merged)), Some(all));
        }
    }

    #[test]
    fn damage_is_noticed_or_harmless() {
        let mut leaf = Leaf::new(PLACE);
        for key in 300..320 {
            leaf.insert(PLACE, &Entry { key, file: FileId(16), kind: Kind::File, name: b"name" });
        }
        let random = Random::new(1);
        for _ in 0..20_000 {
            let mut bytes = *leaf.bytes();
            bytes[random.index(4096)] = random.byte();
            bytes[random.index(80)] = random.byte();
            if let Ok(leaf) = Leaf::decode(&bytes, PLACE) {
                assert!(leaf.entries().count() == leaf.count() && leaf.position(310) <= leaf.count());
            }
        }
        assert!(Leaf::decode(leaf.bytes(), Place { node: 4, ..PLACE }).is_err());
        assert!(Leaf::decode(&[0; 4096], PLACE).is_err());
        assert!(Leaf::decode(&[0; 4096], Place { node: 0, ..PLACE }).is_ok_and(|leaf| leaf.count() == 0));
    }
}
