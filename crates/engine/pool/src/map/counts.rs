//! Numbers of mapped blocks, and the places of mapped and unmapped blocks, from the counts in pages:
//! of a range in time proportional to the depth of the tree.
//!
//! Entries of pages up to level 3 count the blocks below them exactly. Entries above round up, and the
//! header of the child has the exact number.

use crate::geometry::{NARROW_LEVEL, Pointer, entry_span, index_in, page_span};
use crate::interface::ObjectId;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::map::Map;
use crate::map::page::Entry;
use std::ops::Range;

impl Map {
    /// Number of mapped blocks in a range of an object; `None` if pages are missing, which it notes in `need`.
    pub(crate) fn mapped_in(&mut self, object: ObjectId, range: BlockRange) -> Option<u64> {
        let (root, mapped) = self.objects.read(object, |object| (object.pointer(), object.mapped))?;
        let span = page_span(root.level);
        let (from, to) = (range.first.get().min(span), (range.first.get() + range.count).min(span));
        match from..to {
            _ if root.is_empty() || from == to => Some(0),
            all if all == (0..span) => Some(mapped),
            part => self.mapped_below(root, part),
        }
    }

    /// Number of mapped blocks below a page, of those at `range`, counted from the first block that it spans.
    fn mapped_below(&mut self, pointer: Pointer, range: Range<u64>) -> Option<u64> {
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
        let root = self.root_of(object)?;
        let end = page_span(root.level);
        let mut block = from;
        let mut pointer = root;
        while !root.is_empty() && block.get() < end {
            let level = pointer.level;
            let page = self.page(pointer)?;
            let index = index_in(block, level);
            let mut found = None;
            for (at, entry) in (index..).zip(&page.entries[index..]) {
                if entry.is_empty() != mapped || !(level == 0 || mapped || self.is_full(level, entry)?) {
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
                return Some(block);
            }
            pointer = entry.child_pointer(level);
        }
        // Above the tree nothing is mapped.
        Some(if mapped { BlockNumber::new(u64::MAX) } else { block })
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
