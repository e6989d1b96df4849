//! Numbers of mapped blocks, and the places of mapped and unmapped blocks, from the counts in pages:
//! of a range in time proportional to the depth of the tree.
//!
//! Entries of pages up to level 3 count the blocks below them exactly. Entries above round up, and the
//! header of the child has the exact number.

use crate::geometry::{MAX_LEVEL, NARROW_LEVEL, Pointer, RANGE_LEVEL, entry_span, index_in, page_span};
use crate::interface::ObjectId;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::map::Map;
use crate::map::page::{Entry, Page};
use crate::mutations::{Mutation, leaves_out};
use media::BlockAddress;
use rustc_hash::FxHashMap;
use std::ops::Range;

impl Map {
    /// Number of blocks that entries of a page at `level` map, for an operation on a range. The children of
    /// a page at [`RANGE_LEVEL`] must be in memory.
    #[inline]
    pub(super) fn mapped_by(&self, level: u8, entries: &[Entry]) -> Option<u64> {
        match level {
            0 => Some(entries.iter().filter(|entry| !entry.is_empty()).count() as u64),
            RANGE_LEVEL if !leaves_out(Mutation::ExactCount) => self.mapped_by_children(entries),
            _ => Some(entries.iter().map(|entry| entry.mapped(level)).sum()),
        }
    }

    #[cold]
    fn mapped_by_children(&self, entries: &[Entry]) -> Option<u64> {
        let children = entries.iter().filter(|entry| !entry.is_empty());
        children.map(|entry| Some(self.pages.peek(entry.address())?.mapped())).sum()
    }

    /// Plans [`Map::mapped_by`] of `entries` entries of the page at `level`, from that of block `at` on. False
    /// if pages are missing.
    #[inline]
    pub(super) fn plan_counts(&mut self, object: ObjectId, at: BlockNumber, level: u8, entries: usize) -> bool {
        level != RANGE_LEVEL || self.plan_children(object, at, level, entries)
    }

    #[cold]
    fn plan_children(&mut self, object: ObjectId, at: BlockNumber, level: u8, entries: usize) -> bool {
        let Some((pointer, _)) = self.pointer(object, at, level) else { return false };
        if pointer.is_empty() {
            return true;
        }
        let Some(page) = self.page(pointer) else { return false };
        let index = index_in(at, level);
        let mut complete = true;
        for child in page.entries[index..index + entries].iter().filter(|entry| !entry.is_empty()) {
            complete &= self.page(child.child_pointer(level)).is_some();
        }
        complete
    }

    /// Number of mapped blocks in a range of an object; `None` if pages are missing, which it notes in `need`. Plans
    /// count by it, so it reads each page above the range: known leaves are no answer.
    pub(crate) fn mapped_in(&mut self, object: ObjectId, range: BlockRange) -> Option<u64> {
        let (root, mapped) = self.objects.read(object, |object| (object.pointer(), object.mapped))?;
        let span = page_span(root.level);
        let (from, to) = (range.first.get().min(span), (range.first.get() + range.count).min(span));
        match from..to {
            _ if root.is_empty() || from == to => Some(0),
            all if all == (0..span) => Some(mapped),
            part => self.mapped_in_part(root, part),
        }
    }

    /// [`Self::mapped_below`], which first descends as long as the range is below one entry.
    fn mapped_in_part(&mut self, root: Pointer, mut range: Range<u64>) -> Option<u64> {
        let mut pointer = root;
        loop {
            let (level, span) = (pointer.level, entry_span(pointer.level));
            let at = range.start / span;
            if level == 0 || range == (0..page_span(level)) || range.end > (at + 1) * span {
                return self.mapped_below(pointer, range);
            }
            let Some(page) = self.pages.get(pointer) else {
                self.note_missing(pointer);
                return None;
            };
            let entry = page.entries[at as usize];
            range = range.start - at * span..range.end - at * span;
            match level {
                _ if entry.is_empty() => return Some(0),
                1..=NARROW_LEVEL if range == (0..span) => return Some(entry.mapped(level)),
                _ => pointer = entry.child_pointer(level),
            }
        }
    }

    /// Number of mapped blocks below a page, of those at `range`, counted from the first block that it spans.
    pub(super) fn mapped_below(&mut self, pointer: Pointer, range: Range<u64>) -> Option<u64> {
        let level = pointer.level;
        let page = self.page(pointer)?;
        if range == (0..page_span(level)) {
            return Some(page.mapped());
        }
        let span = entry_span(level);
        let (first, end) = (range.start / span, range.end.div_ceil(span));
        let mut sum = Some(0);
        for (at, entry) in (first..).zip(&page.entries[first as usize..end as usize]) {
            let inside = range.start.max(at * span) - at * span..range.end.min((at + 1) * span) - at * span;
            let mapped = match level {
                _ if entry.is_empty() => continue,
                0 => Some(1),
                1..=NARROW_LEVEL if inside == (0..span) => Some(entry.mapped(level)),
                _ => self.mapped_below(entry.child_pointer(level), inside),
            };
            // Goes on without a number, to note all pages that are missing.
            sum = sum.zip(mapped).map(|(sum, mapped)| sum + mapped);
        }
        sum
    }

    /// First block of the object at or after `from` that is mapped, or that is not; `None` if pages are
    /// missing. It is behind the end of the object if no block of the object is one.
    pub(crate) fn next_block(&mut self, object: ObjectId, from: BlockNumber, mapped: bool) -> Option<BlockNumber> {
        self.search_block(object, from, mapped).ok()
    }

    /// [`Self::next_block`]. `Err`: a block whose path lacks a page, behind those that were passed over.
    pub(crate) fn search_block(
        &mut self,
        object: ObjectId,
        from: BlockNumber,
        mapped: bool,
    ) -> Result<BlockNumber, BlockNumber> {
        let mut block = from;
        let root = self.root_of(object).ok_or(block)?;
        let end = page_span(root.level);
        let mut pointer = root;
        while !root.is_empty() && block.get() < end {
            let level = pointer.level;
            let page = self.page(pointer).ok_or(block)?;
            let index = index_in(block, level);
            let mut found = None;
            for (at, entry) in (index..).zip(&page.entries[index..]) {
                if entry.is_empty() != mapped || !(level == 0 || mapped || self.is_full(level, entry).ok_or(block)?) {
                    found = Some((at, entry));
                    break;
                }
            }
            let Some((at, entry)) = found else {
                (block, pointer) = (block.next_page(level), root);
                continue;
            };
            if at > index {
                block = BlockNumber::new(block.page(level) * page_span(level) + at as u64 * entry_span(level));
            }
            if level == 0 || entry.is_empty() {
                return Ok(block);
            }
            pointer = entry.child_pointer(level);
        }
        // Above the tree nothing is mapped.
        Ok(if mapped { BlockNumber::new(u64::MAX) } else { block })
    }

    /// True if every block below an entry of a page at `level` (≥ 1) is mapped; `None` if a page is missing.
    fn is_full(&mut self, level: u8, entry: &Entry) -> Option<bool> {
        let span = entry_span(level);
        if entry.mapped(level) < span {
            return Some(false);
        }
        Some(level <= NARROW_LEVEL || self.page(entry.child_pointer(level))?.mapped() == span)
    }
}

/// Verification of the counts in pages whose entries round up, from all pages of trees in any order.
#[derive(Default)]
pub(crate) struct RoundedCounts {
    /// Blocks mapped below each page at level 3 and above.
    mapped: FxHashMap<BlockAddress, u64>,
    /// Each page above level 3, with its children.
    parents: Vec<(BlockAddress, Vec<BlockAddress>)>,
}

impl RoundedCounts {
    /// Notes a page at `address`. Only those from level 3 on take memory.
    pub fn note(&mut self, address: BlockAddress, page: &Page) {
        match page.level() {
            0..NARROW_LEVEL => return,
            NARROW_LEVEL => {}
            RANGE_LEVEL..=MAX_LEVEL => {
                let children = page.entries.iter().map(Entry::address).filter(|child| !child.is_none());
                self.parents.push((address, children.collect()));
            }
            _ => return,
        }
        self.mapped.insert(address, page.mapped());
    }

    /// A sentence for each noted page that contradicts its children; a page of which a child was not noted
    /// is passed over.
    pub fn findings(&self) -> impl Iterator<Item = String> {
        self.parents.iter().filter_map(|(address, children)| {
            let sum: u64 = children.iter().map(|child| self.mapped.get(child).copied()).sum::<Option<u64>>()?;
            let mapped = self.mapped.get(address)?;
            (sum != *mapped)
                .then(|| format!("map page {address}: its children map {sum} blocks, its header says {mapped}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Crc32c;

    /// A page at `level` at `address`, whose entries name pages at the next addresses with these counts.
    fn page(level: u8, address: u64, children: &[u64], mapped: u64) -> (BlockAddress, Page) {
        let own = BlockAddress::new(address);
        let mut page = Page::empty(level, 1, own, ObjectId(16));
        for (index, mapped) in children.iter().enumerate() {
            page.entries[index] = Entry::child(level, own + 1 + index as u64, *mapped, Crc32c::NONE);
        }
        page.set_mapped(mapped);
        (own, page)
    }

    #[test]
    fn a_rounded_count_that_its_children_contradict_is_found() {
        let found = |mapped: u64| {
            let mut counts = RoundedCounts::default();
            for (address, page) in
                [page(4, 10, &[5, 300], mapped), page(3, 11, &[5], 5), page(3, 12, &[300], 300), page(2, 13, &[9], 9)]
            {
                assert_eq!(page.contradiction(), None);
                counts.note(address, &page);
            }
            counts.findings().collect::<Vec<_>>()
        };
        assert_eq!(found(305), Vec::<String>::new());
        assert_eq!(found(306), ["map page 10: its children map 305 blocks, its header says 306"]);
        assert_eq!(found(768).len(), 1);
    }

    #[test]
    fn a_page_whose_child_was_not_met_is_passed_over() {
        let mut counts = RoundedCounts::default();
        let (address, parent) = page(5, 10, &[5], 6);
        counts.note(address, &parent);
        assert_eq!(counts.findings().count(), 0);
    }
}
