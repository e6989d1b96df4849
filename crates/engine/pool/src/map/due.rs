//! Counts of the blocks that an allotment is due: exact, from the map, leaf by leaf.

use crate::catalog::allotments::allotment::{between, common, pages_below};
use crate::geometry::{Pointer, index_in, page_span};
use crate::interface::ObjectId;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::map::Map;

/// Part of a range that has been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// Mapped blocks.
    pub mapped: u64,
    /// Mapped blocks that other places may use too.
    pub shared: u64,
    /// Map pages to be allocated when the whole range is written.
    pub pages: u64,
}

impl Map {
    /// Counts the part of a range that begins at `from`, where a count before this one has ended or the range
    /// begins: the rest of the range below the largest page of which nothing or everything is due, or below a
    /// leaf. Returns where it ends; `None` if pages or counts are missing, or reference counts damaged.
    pub(crate) fn count_due(
        &mut self,
        object: ObjectId,
        range: BlockRange,
        from: BlockNumber,
        due: &mut Due,
    ) -> Option<BlockNumber> {
        let mut pointer = self.root_of(object)?;
        let mut found = *due;
        loop {
            let level = pointer.level;
            let first = BlockNumber::first_of_page(from.page(level), level);
            let end = from.next_page(level).min(range.first + range.count);
            let rest = between(from, end);
            let shared = !pointer.is_empty() && self.is_shared(pointer)?;
            let is_due = shared || pointer.is_empty();
            if is_due {
                // Pages above were counted with their first block.
                found.pages += pages_below(rest, level) + u64::from(from == range.first.max(first));
                let mapped = if shared { self.mapped_of(pointer, first, rest)? } else { 0 };
                (found.mapped, found.shared) = (found.mapped + mapped, found.shared + mapped);
                *due = found;
                return Some(end);
            }
            let page = self.page(pointer)?;
            if level > 0 {
                pointer = page.entries[index_in(from, level)].child_pointer(level);
                continue;
            }
            let entries = &page.entries[index_in(from, 0)..][..rest.count as usize];
            self.need_counts_of(entries);
            for entry in entries.iter().filter(|entry| !entry.is_empty()) {
                found.mapped += 1;
                found.shared += u64::from(self.space.count(entry.address())? > 1);
            }
            *due = found;
            return Some(end);
        }
    }

    /// True if a page has more than one parent.
    fn is_shared(&mut self, pointer: Pointer) -> Option<bool> {
        self.need_counts(pointer.address);
        Some(self.space.count(pointer.address)? > 1)
    }

    /// Number of blocks of a range that are mapped below a page, whose first block is `first`.
    fn mapped_of(&mut self, pointer: Pointer, first: BlockNumber, range: BlockRange) -> Option<u64> {
        let inside = common(range, BlockRange::new(first, page_span(pointer.level)));
        let from = inside.first - first;
        self.mapped_below(pointer, from..from + inside.count)
    }
}
