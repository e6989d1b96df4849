//! Pins: pages and blocks in memory that eviction spares, because a transaction has seen them and
//! needs all of what it sees in memory at once. A pin names a place on the medium, not its content.

use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;
use crate::map::Map;
use media::BlockAddress;
use rustc_hash::FxHashMap;

/// Places whose page or content stays in memory if it is there.
#[derive(Default)]
pub(crate) struct Pins(FxHashMap<BlockAddress, u32>);

impl Pins {
    /// True if what is at `address` stays in memory.
    #[inline]
    pub fn contains(&self, address: BlockAddress) -> bool {
        !self.0.is_empty() && self.0.contains_key(&address)
    }

    /// Number of places.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    fn add(&mut self, address: BlockAddress) {
        *self.0.entry(address).or_default() += 1;
    }

    fn remove(&mut self, address: BlockAddress) {
        if let Some(count) = self.0.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&address);
            }
        }
    }
}

impl Map {
    /// Places that eviction spares.
    pub(crate) fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Replaces the pins of one transaction by others.
    pub(crate) fn repin(&mut self, old: &[BlockAddress], new: &[BlockAddress]) {
        new.iter().for_each(|address| self.pins.add(*address));
        old.iter().for_each(|address| self.pins.remove(*address));
    }

    /// Appends the pages that are in memory on the path to the page at `level` over a block, and with
    /// `content` the block itself.
    pub(crate) fn places_on_path(
        &self,
        object: ObjectId,
        block: BlockNumber,
        level: u8,
        content: bool,
        out: &mut Vec<BlockAddress>,
    ) {
        let Some(mut pointer) = self.root_of(object) else { return };
        while !pointer.is_empty() && pointer.level >= level {
            let Some(page) = self.pages.peek(pointer.address) else { return };
            out.push(pointer.address);
            let entry = page.entries[crate::geometry::index_in(block, pointer.level)];
            if pointer.level == 0 {
                if content && !entry.is_empty() {
                    out.push(entry.address());
                }
                return;
            }
            pointer = entry.child_pointer(pointer.level);
        }
    }
}
