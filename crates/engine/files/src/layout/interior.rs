//! Interior node of a directory: pairs of the smallest key that a child may have, and the child. Key 8, node 4. The
//! first key of a node is the one by which its parent leads to it; on the left edge of the tree it is 0.

use crate::engine::Block;
use crate::layout::nodes::{HEAD, INTERIOR, NODE_BYTES, Place, begin, is_at, put, u16_at, u32_at, u64_at};
use std::borrow::Borrow;

const PAIR: usize = 12;
/// Most children.
pub(crate) const FAN_OUT: usize = (NODE_BYTES - HEAD) / PAIR;

/// Interior node whose level and count were checked.
#[derive(Clone, Debug)]
pub(crate) struct Interior<B>(B);

impl<B: Borrow<Block>> Interior<B> {
    /// Checks level and count. Any order of the keys leads to some child.
    pub(crate) fn open(bytes: B, place: Place, level: u8) -> Result<Self, ()> {
        let block: &Block = bytes.borrow();
        let count = usize::from(u16_at(block, 2));
        let fine = is_at(block, place, INTERIOR) && block[1] == level && level > 0 && count > 0 && count <= FAN_OUT;
        if fine { Ok(Self(bytes)) } else { Err(()) }
    }

    /// Checks level, count and order.
    pub(crate) fn decode(bytes: B, place: Place, level: u8) -> Result<Self, ()> {
        let node = Self::open(bytes, place, level)?;
        let sorted = (0..node.count()).map(|index| node.key(index)).is_sorted_by(|one, next| one < next);
        if sorted { Ok(node) } else { Err(()) }
    }

    fn block(&self) -> &Block {
        self.0.borrow()
    }

    pub(crate) fn count(&self) -> usize {
        usize::from(u16_at(self.block(), 2))
    }

    pub(crate) fn key(&self, index: usize) -> u64 {
        u64_at(self.block(), HEAD + index * PAIR)
    }

    pub(crate) fn child(&self, index: usize) -> u32 {
        u32_at(self.block(), HEAD + index * PAIR + 8)
    }

    /// Index of the child for a key.
    pub(crate) fn position(&self, key: u64) -> usize {
        let (mut low, mut high) = (1, self.count());
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) <= key { low = middle + 1 } else { high = middle }
        }
        low - 1
    }

    pub(crate) fn level(&self) -> u8 {
        self.block()[1]
    }
}

impl Interior<Block> {
    /// Node with these children.
    pub(crate) fn new(place: Place, level: u8, pairs: impl IntoIterator<Item = (u64, u32)>) -> Self {
        let mut node = Self(begin(place, INTERIOR, level));
        for (index, (key, child)) in pairs.into_iter().enumerate() {
            node.put(index, key, child);
        }
        node
    }

    pub(crate) fn bytes(&self) -> &Block {
        &self.0
    }

    fn pairs(&self) -> impl Iterator<Item = (u64, u32)> {
        (0..self.count()).map(|index| (self.key(index), self.child(index)))
    }

    fn put(&mut self, index: usize, key: u64, child: u32) {
        let (at, count) = (HEAD + index * PAIR, self.count());
        self.0.copy_within(at..HEAD + count * PAIR, at + PAIR);
        put(&mut self.0, at, &key.to_le_bytes());
        put(&mut self.0, at + 8, &child.to_le_bytes());
        put(&mut self.0, 2, &(count as u16 + 1).to_le_bytes());
    }

    /// Adds a child. False if there is no room.
    pub(crate) fn insert(&mut self, key: u64, child: u32) -> bool {
        if self.count() >= FAN_OUT {
            return false;
        }
        let index = self.position(key) + 1;
        self.put(index, key, child);
        true
    }

    /// Removes a child, which is not the first.
    pub(crate) fn remove(&mut self, index: usize) {
        let (at, count) = (HEAD + index * PAIR, self.count());
        if index == 0 || index >= count {
            return;
        }
        self.0.copy_within(at + PAIR..HEAD + count * PAIR, at);
        put(&mut self.0, HEAD + (count - 1) * PAIR, &[0; PAIR]);
        put(&mut self.0, 2, &(count as u16 - 1).to_le_bytes());
    }

    /// Moves the upper half to a new node.
    pub(crate) fn split(&self, left: Place, right: Place) -> (Self, Self) {
        let half = self.count() / 2;
        let lower = Self::new(left, self.level(), self.pairs().take(half));
        (lower, Self::new(right, self.level(), self.pairs().skip(half)))
    }

    /// Both nodes with half of all children each.
    pub(crate) fn even_out(&self, other: &Self, left: Place, right: Place) -> (Self, Self) {
        let half = (self.count() + other.count()) / 2;
        let pairs = || self.pairs().chain(other.pairs());
        (Self::new(left, self.level(), pairs().take(half)), Self::new(right, self.level(), pairs().skip(half)))
    }

    /// Changes the key of a child.
    pub(crate) fn set_key(&mut self, index: usize, key: u64) {
        if index < self.count() {
            put(&mut self.0, HEAD + index * PAIR, &key.to_le_bytes());
        }
    }

    /// Both nodes as one, if they fit.
    pub(crate) fn merge(&self, right: &Self, place: Place) -> Option<Self> {
        let fits = self.count() + right.count() <= FAN_OUT;
        fits.then(|| Self::new(place, self.level(), self.pairs().chain(right.pairs())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vfs::FileId;

    const PLACE: Place = Place { directory: FileId(20), node: 3 };

    #[test]
    fn a_key_leads_to_the_child_before_the_next_key() {
        let mut node = Interior::new(PLACE, 1, [(0, 10), (600, 12)]);
        assert!(node.insert(300, 11));
        let child = |key| node.child(node.position(key));
        assert_eq!([0, 299, 300, 599, 600, u64::MAX].map(child), [10, 10, 11, 11, 12, 12]);
        node.remove(1);
        assert_eq!((node.count(), node.child(node.position(300))), (2, 10));
        assert!(Interior::decode(node.bytes(), PLACE, 1).is_ok());
        assert!(Interior::decode(node.bytes(), PLACE, 2).is_err());
    }

    #[test]
    fn a_full_node_splits_and_merges() {
        let mut node = Interior::new(PLACE, 1, [(0, 1)]);
        for key in 1..FAN_OUT as u64 {
            assert!(node.insert(key * 2, key as u32 + 1));
        }
        assert!(!node.insert(5, 9));
        let right_place = Place { node: 4, ..PLACE };
        let (left, right) = node.split(PLACE, right_place);
        assert_eq!(left.count() + right.count(), FAN_OUT);
        assert!(Interior::decode(right.bytes(), right_place, 1).is_ok());
        let merged = left.merge(&right, PLACE).map(|merged| *merged.bytes());
        assert_eq!(merged, Some(*node.bytes()));
        assert!(left.merge(&node, PLACE).is_none());
    }

    #[test]
    fn keys_out_of_order_are_damage() {
        let node = Interior::new(PLACE, 1, [(0, 10), (600, 12), (300, 11)]);
        assert!(Interior::decode(node.bytes(), PLACE, 1).is_err());
        assert!(Interior::decode(&[0; 4096], PLACE, 1).is_err());
    }
}
