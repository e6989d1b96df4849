//! Where the leaves of address spaces were found last, so that a look at a block does not descend from the root.
//!
//! A place is true as long as no interior page has changed, and the object has the same root page. A leaf that is no
//! longer in memory, or no longer named by the pointer, has to be looked up.

use crate::geometry::Pointer;
use crate::interface::ObjectId;

/// Number of places is 2 to the power of this.
const PLACE_BITS: u32 = 10;
const PLACES: usize = 1 << PLACE_BITS;

/// Leaf that was found.
#[derive(Clone, Copy)]
struct Known {
    object: ObjectId,
    /// Number of the leaf in its object.
    number: u64,
    root: Pointer,
    /// Number of changes of interior pages before it was found.
    changes: u64,
    leaf: Pointer,
}

/// Leaves of address spaces that were found last.
#[derive(Default)]
pub(super) struct Leaves(Vec<Option<Known>>);

impl Leaves {
    fn place(object: ObjectId, number: u64) -> usize {
        // Classes of regions differ in the upper bits.
        let mixed = (number ^ object.0.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (u64::BITS - PLACE_BITS)) as usize
    }

    /// Leaf of an object, found under this root before any further change of an interior page.
    #[inline]
    pub fn find(&self, object: ObjectId, number: u64, root: Pointer, changes: u64) -> Option<Pointer> {
        let known = self.0.get(Self::place(object, number))?.as_ref()?;
        let same = known.number == number && known.object == object && known.changes == changes && known.root == root;
        same.then_some(known.leaf)
    }

    /// Notes where a leaf was found.
    pub fn note(&mut self, object: ObjectId, number: u64, root: Pointer, changes: u64, leaf: Pointer) {
        if self.0.is_empty() {
            self.0.resize(PLACES, None);
        }
        if let Some(place) = self.0.get_mut(Self::place(object, number)) {
            *place = Some(Known { object, number, root, changes, leaf });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Crc32c;
    use media::BlockAddress;

    #[test]
    fn a_leaf_is_known_until_something_above_it_changes() {
        let page = |level, address| Pointer { address: BlockAddress::new(address), level, crc: Crc32c::NONE };
        let (root, leaf, object) = (page(5, 7), page(0, 9), ObjectId(16));
        let mut leaves = Leaves::default();
        assert_eq!(leaves.find(object, 3, root, 1), None);
        leaves.note(object, 3, root, 1, leaf);
        assert_eq!(leaves.find(object, 3, root, 1), Some(leaf));
        for (object, number, root, changes) in
            [(ObjectId(17), 3, root, 1), (object, 4, root, 1), (object, 3, page(5, 8), 1), (object, 3, root, 2)]
        {
            assert_eq!(leaves.find(object, number, root, changes), None);
        }
    }
}
