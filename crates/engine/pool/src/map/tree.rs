//! Trees of the map: path-copied radix trees whose sub-trees are shared.
//!
//! A page with more than one parent is never changed. [`Map::own_path`] makes a path exclusively
//! owned and part of the current epoch: empty pointers get fresh pages, shared pages are copied
//! (their children gain a reference), clean pages move to a new address. Counts propagate lazily: a
//! page's count is the number of parents that point to it, not of objects that reach it.

use crate::catalog::object::Dropped;
use crate::checksum::Crc32c;
use crate::geometry::{FANOUT, MAX_LEVEL, PATH_PAGES, Pointer, RANGE_LEVEL, entry_span, index_in, page_span};
use crate::interface::ObjectId;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::map::Map;
use crate::map::page::{Entry, Page};
use crate::map::pages::Path;
use crate::mutations::{Mutation, leaves_out};
use crate::space::Stream;
use media::BlockAddress;

use std::rc::Rc;

impl Map {
    /// Returns a page if it is in memory; otherwise notes it in `need`.
    #[inline]
    pub(crate) fn page(&mut self, pointer: Pointer) -> Option<Rc<Page>> {
        match self.pages.get(pointer) {
            Some(page) => Some(page.clone()),
            None => {
                self.note_missing(pointer);
                None
            }
        }
    }

    /// Notes that the page of `pointer` is not in memory. If another page is there at its address,
    /// the pool is damaged: wrong reference counts can give the block of a page to a second page.
    #[cold]
    #[inline(never)]
    pub(super) fn note_missing(&mut self, pointer: Pointer) {
        let Pointer { address, level, .. } = pointer;
        match self.pages.peek(address) {
            Some(_) => {
                self.need.damaged = Some(format!("map page {address} at level {level} was replaced by another page"));
            }
            None => self.need.pages.push(pointer),
        }
    }

    /// Notes the segment of `address` in `need` if its counts are not in memory.
    #[inline]
    pub(crate) fn need_counts(&mut self, address: BlockAddress) {
        match self.space.missing(address) {
            Ok(None) => {}
            Ok(Some(segment)) => self.need.segments.push(segment),
            Err(reason) => self.need.damaged = Some(reason),
        }
    }

    /// Like `need_counts` for the block of each entry. Neighbours are mostly in one segment, which
    /// is noted once.
    pub(crate) fn need_counts_of(&mut self, entries: &[Entry]) {
        let mut known = BlockAddress::NONE..BlockAddress::NONE;
        for address in entries.iter().map(Entry::address) {
            if !address.is_none() && !known.contains(&address) {
                self.need_counts(address);
                known = self.space.layout().neighbours(address);
            }
        }
    }

    pub(crate) fn root_of(&self, object: ObjectId) -> Option<Pointer> {
        self.objects.root(object)
    }

    /// Returns the entry that maps `block` of the object; `None` if pages are missing, which it
    /// notes in `need`.
    #[inline]
    pub(crate) fn lookup(&mut self, object: ObjectId, block: BlockNumber) -> Option<Entry> {
        let root = self.root_of(object)?;
        self.descend(root, block).map(|(entry, _)| entry)
    }

    /// [`Self::lookup`] for a look that plans nothing: in an address space it takes the leaf that was found before, and
    /// leaves the pages above it unread.
    #[inline]
    pub(crate) fn lookup_known(&mut self, object: ObjectId, block: BlockNumber) -> Option<Entry> {
        let root = self.root_of(object)?;
        if root.level < MAX_LEVEL {
            return self.descend(root, block).map(|(entry, _)| entry);
        }
        let (number, mut changes) = (block.page(0), self.pages.changes());
        if leaves_out(Mutation::KnownLeaves) {
            changes = 0;
        }
        if let Some(leaf) = self.leaves.find(object, number, root, changes)
            && let Some(page) = self.pages.get(leaf)
        {
            return Some(page.entries[index_in(block, 0)]);
        }
        let (entry, leaf) = self.descend(root, block)?;
        if !leaf.is_empty() {
            self.leaves.note(object, number, root, changes, leaf);
        }
        Some(entry)
    }

    /// True if the page of each level above `block` is in memory, as far as there are pages; notes a missing one in
    /// `need`.
    pub(crate) fn has_path(&mut self, object: ObjectId, block: BlockNumber) -> bool {
        self.root_of(object).is_some_and(|root| self.descend(root, block).is_some())
    }

    /// Entry that maps `block` below a page, and the pointer to its leaf, which is empty where nothing is mapped.
    #[inline]
    fn descend(&mut self, root: Pointer, block: BlockNumber) -> Option<(Entry, Pointer)> {
        let mut pointer = root;
        loop {
            if pointer.is_empty() {
                return Some((Entry::EMPTY, pointer));
            }
            let Some(page) = self.pages.get(pointer) else {
                self.note_missing(pointer);
                return None;
            };
            let entry = page.entries[index_in(block, pointer.level)];
            if pointer.level == 0 {
                return Some((entry, pointer));
            }
            pointer = entry.child_pointer(pointer.level);
        }
    }

    /// Returns the pointer to the page at `level` (0: a leaf) that spans `block`, and the number of
    /// blocks mapped below it; the pointer is empty if nothing is mapped there. A level above the object's root is an
    /// error of the caller.
    pub(crate) fn pointer(&mut self, object: ObjectId, block: BlockNumber, level: u8) -> Option<(Pointer, u64)> {
        let (mut pointer, mut mapped) = self.objects.read(object, |object| (object.pointer(), object.mapped))?;
        while pointer.level > level && !pointer.is_empty() {
            let page = self.page(pointer)?;
            let entry = page.entries[index_in(block, pointer.level)];
            mapped = entry.mapped(pointer.level);
            pointer = entry.child_pointer(pointer.level);
        }
        Some(match pointer.is_empty() {
            true => (Pointer { level, ..pointer }, 0),
            false => (pointer, mapped),
        })
    }

    /// Plans to own the path to the page at `level` that spans `block`, and to replace `entries` of
    /// it: notes missing data and counts allocations. With `worst`, plans as if every page were
    /// shared. Returns how many of the entries would need a new block for new content, or `None` if
    /// data is missing.
    pub(crate) fn plan_path(
        &mut self,
        object: ObjectId,
        block: BlockNumber,
        level: u8,
        entries: std::ops::Range<usize>,
        worst: bool,
    ) -> Option<usize> {
        if level == 0
            && !worst
            && let Some(path) = self.pages.owned(object, block)
        {
            return self.plan_owned(path.page(), entries);
        }
        let mut pointer = self.root_of(object)?;
        let mut shared = worst;
        loop {
            let Pointer { address, level: at, .. } = pointer;
            if pointer.is_empty() {
                self.need.allocations += u64::from(at - level) + 1;
                self.need.fresh += entries.len() as u64;
                return Some(entries.len());
            }
            let page = self.page(pointer)?;
            let pages_missing = self.need.segments.len();
            self.need_counts(address);
            if self.need.segments.len() > pages_missing {
                // The count is unknown: plan for the worst case.
                shared = true;
            } else {
                let count = self.space.count(address);
                if count == Some(0) {
                    self.need.damaged = Some(format!("map page {address} is in use, and its reference count is 0"));
                    return None;
                }
                shared |= count.is_none_or(|count| count > 1);
            }
            if shared {
                self.need_counts_of(&page.entries);
            }
            if shared || page.epoch() < self.pages.epoch() {
                let another = self.need.count(object, at, block.page(at));
                if !self.need.once || another {
                    self.need.allocations += 1;
                    self.need.passing += u64::from(!shared);
                }
            }
            if at == level {
                let leaf = level == 0;
                return Some(if leaf { self.plan_leaf(&page.entries[entries], shared) } else { entries.len() });
            }
            let entry = page.entries[index_in(block, at)];
            pointer = entry.child_pointer(at);
        }
    }

    /// Notes which counts of a leaf's entries are missing; returns how many of them would need a
    /// new block for new content. `shared`: the leaf is, or may be, shared.
    #[inline]
    fn plan_leaf(&mut self, entries: &[Entry], shared: bool) -> usize {
        let mut new = entries.len();
        for entry in entries {
            if entry.is_empty() {
                self.need.fresh += 1;
            } else {
                self.need_counts(entry.address());
                new -= usize::from(!shared && self.space.count(entry.address()) == Some(1));
            }
        }
        new
    }

    /// Address of the leaf that maps `block` of the object, if this epoch owns its whole path.
    pub(crate) fn owned_leaf(&self, object: ObjectId, block: BlockNumber) -> Option<BlockAddress> {
        Some(self.pages.owned(object, block)?.page())
    }

    /// Like `plan_path`, for an owned leaf: only the counts of the old blocks matter.
    fn plan_owned(&mut self, leaf: BlockAddress, entries: std::ops::Range<usize>) -> Option<usize> {
        let mut new = entries.len();
        for entry in &self.pages.peek(leaf)?.entries[entries] {
            if entry.is_empty() {
                self.need.fresh += 1;
                continue;
            }
            match self.space.missing(entry.address()) {
                Ok(None) => new -= usize::from(self.space.count(entry.address()) == Some(1)),
                Ok(Some(segment)) => self.need.segments.push(segment),
                Err(reason) => self.need.damaged = Some(reason),
            }
        }
        Some(new)
    }

    /// Counts allocated and freed blocks of map pages and catalog. The counter of a damaged disk
    /// may be arbitrary.
    pub(crate) fn count_metadata(&mut self, more: u64, less: u64) {
        self.metadata_blocks = self.metadata_blocks.saturating_add(more).saturating_sub(less);
    }

    fn allocate_page(&mut self) -> Option<BlockAddress> {
        let address = self.space.allocate(Stream::Metadata)?;
        self.space.increment(address)?;
        self.count_metadata(1, 0);
        Some(address)
    }

    /// Makes the page at `address`, which spans `block`, exclusively owned and part of this epoch; returns its
    /// new address. The plan must be complete.
    fn own(&mut self, object: ObjectId, block: BlockNumber, address: BlockAddress, level: u8) -> Option<BlockAddress> {
        let epoch = self.pages.epoch();
        if address.is_none() {
            let new = self.allocate_page()?;
            self.pages.insert_dirty(new, Rc::new(Page::empty(level, epoch, new, object)));
            self.objects.page_given(object)?;
            self.allotments.page_given(object, block, level);
            return Some(new);
        }
        if self.space.count(address)? > 1 {
            let mut page = (**self.pages.peek(address)?).clone();
            let new = self.allocate_page()?;
            for entry in &page.entries {
                if !entry.is_empty() {
                    self.space.increment(entry.address())?;
                }
            }
            self.space.decrement(address)?;
            page.place(epoch, new);
            self.pages.insert_dirty(new, Rc::new(page));
            if self.off_bounds(1) > 0 {
                self.objects.page_given(object)?;
                self.allotments.page_given(object, block, level);
            }
            return Some(new);
        }
        if self.pages.peek(address)?.epoch() < epoch {
            let new = self.allocate_page()?;
            let mut page = self.pages.remove(address)?;
            Rc::make_mut(&mut page).place(epoch, new);
            self.space.decrement(address)?;
            self.count_metadata(0, 1);
            self.pages.insert_dirty(new, page);
            return Some(new);
        }
        Some(address)
    }

    /// Owns the path from the object's root to the page at `level` that spans `block`. `None` means
    /// a broken plan, after which the pool must stop.
    pub(crate) fn own_path(&mut self, object: ObjectId, block: BlockNumber, level: u8) -> Option<Path> {
        if level == 0
            && let Some(path) = self.pages.owned(object, block)
        {
            return Some(*path);
        }
        let Pointer { address: root, level: root_level, .. } = self.root_of(object)?;
        let mut path = Path { object, pages: [BlockAddress::NONE; PATH_PAGES], root_level, level, block };
        let mut address = self.own(object, block, root, root_level)?;
        self.objects.set_root(object, address)?;
        path.pages[usize::from(root_level)] = address;
        let mut at = root_level;
        while at > level {
            let index = index_in(block, at);
            let entry = self.pages.peek(address)?.entries[index];
            let child = self.own(object, block, entry.address(), at - 1)?;
            if child != entry.address() {
                // A fresh page has no mapped blocks yet; `finish_path` sets the final number before
                // the page is used.
                let mapped = entry.mapped(at).max(1);
                self.pages.page_mut(address)?.entries[index] = Entry::child(at, child, mapped, Crc32c::NONE);
            }
            address = child;
            at -= 1;
            path.pages[usize::from(at)] = address;
        }
        if level == 0 {
            self.pages.note_owned(path);
        }
        Some(path)
    }

    /// Ends a change: `delta` more blocks are mapped below the path's page. Frees pages without
    /// mapped blocks.
    pub(crate) fn finish_path(&mut self, path: &Path, delta: i64) -> Option<()> {
        self.objects.change_mapped(path.object, delta)?;
        if delta == 0 && self.pages.peek(path.page())?.mapped() > 0 {
            return Some(());
        }
        for at in path.level..=path.root_level {
            let address = path.pages[usize::from(at)];
            let page = self.pages.page_mut(address)?;
            // More blocks than the page spans: its count contradicted its entries when it was read.
            let mapped = page.mapped().checked_add_signed(delta).filter(|mapped| *mapped <= page_span(at))?;
            page.set_mapped(mapped);
            let entry = if mapped == 0 {
                self.space.decrement(address)?;
                self.count_metadata(0, 1);
                self.pages.remove(address);
                self.pages.disown();
                self.objects.more_shared(path.object, 0, 1)?;
                self.allotments.page_freed(path.object, path.block, at);
                Entry::EMPTY
            } else if at < path.root_level {
                Entry::child(at + 1, address, mapped, Crc32c::NONE)
            } else {
                continue;
            };
            if at == path.root_level {
                self.objects.set_root(path.object, BlockAddress::NONE)?;
            } else {
                let parent = path.pages[usize::from(at) + 1];
                self.pages.page_mut(parent)?.entries[index_in(path.block, at + 1)] = entry;
            }
        }
        Some(())
    }

    /// Replaces the checksum in the pointer to the page at `level` that begins at block `start` and
    /// is not a root. The path to its parent was planned.
    pub(crate) fn assign_checksum(
        &mut self,
        object: ObjectId,
        start: BlockNumber,
        level: u8,
        crc: Crc32c,
    ) -> Option<()> {
        let path = self.own_path(object, start, level + 1)?;
        let entry = self.pages.page_mut(path.page())?.entries.get_mut(index_in(start, level + 1))?;
        *entry = entry.with_crc(crc);
        self.finish_path(&path, 0)
    }

    /// Removes a reference to a data block; the last one also drops its content in memory. Returns
    /// the number of references left.
    pub(crate) fn release_block(&mut self, address: BlockAddress) -> Option<u16> {
        let left = self.space.decrement(address)?;
        if left == 0 {
            self.content.free(address);
        }
        Some(left)
    }

    /// Detaches the sub-tree at `pointer`, with `mapped` mapped blocks; its references are given
    /// back in the background.
    pub(crate) fn drop_tree(&mut self, pointer: Pointer, mapped: u64) {
        if !pointer.is_empty() {
            self.pages.disown();
            self.drops.push(Dropped { pointer: self.pages.completed(pointer), mapped });
        }
    }

    /// Splits a run of blocks of an object into the largest aligned pieces: calls `f` with the
    /// level of the page whose entries are replaced, at most [`RANGE_LEVEL`], the first block, and the
    /// number of entries. Pieces of one call are in one page.
    pub(crate) fn pieces(
        root_level: u8,
        first: BlockNumber,
        count: u64,
        phase: u64,
        mut f: impl FnMut(u8, BlockNumber, usize),
    ) {
        let highest = root_level.min(if leaves_out(Mutation::RangeLevel) { MAX_LEVEL } else { RANGE_LEVEL });
        let mut at = first.get();
        let end = at + count;
        while at < end {
            // Highest level at which an entry starts here (also in the other object of a clone,
            // `phase` blocks away) and fits.
            let mut level = 0;
            while level < highest
                && at.is_multiple_of(entry_span(level + 1))
                && at.wrapping_add(phase).is_multiple_of(entry_span(level + 1))
                && end - at >= entry_span(level + 1)
            {
                level += 1;
            }
            let span = entry_span(level);
            let page_end = (at / page_span(level) + 1) * page_span(level);
            // Stops where a higher level can take over.
            let mut stop = end.min(page_end);
            if level < highest {
                let next = (at / entry_span(level + 1) + 1) * entry_span(level + 1);
                stop = stop.min(next);
            }
            let entries = ((stop - at) / span).clamp(1, FANOUT as u64);
            f(level, BlockNumber::new(at), entries as usize);
            at += entries * span;
        }
    }

    /// Plans to replace all entries of the pieces of a run. Returns false if data is missing.
    pub(crate) fn plan_pieces(&mut self, object: ObjectId, first: BlockNumber, count: u64) -> bool {
        self.plan_pieces_as(object, first, count, false)
    }

    /// Like `plan_pieces`; with `shared` as if every page were shared.
    pub(crate) fn plan_pieces_as(&mut self, object: ObjectId, first: BlockNumber, count: u64, shared: bool) -> bool {
        let Some(root) = self.root_of(object) else { return false };
        let mut pieces = Vec::new();
        Self::pieces(root.level, first, count, 0, |level, at, entries| pieces.push((level, at, entries)));
        let mut complete = true;
        self.need.once = true;
        for (level, at, entries) in pieces {
            match self.pointer(object, at, level) {
                None => complete = false,
                Some((pointer, _)) if pointer.is_empty() => {}
                Some(_) => {
                    let from = index_in(at, level);
                    let pages = self.need.lasting_pages();
                    complete &= self.plan_path(object, at, level, from..from + entries, shared).is_some();
                    complete &= self.plan_counts(object, at, level, entries);
                    self.touch_allotment(object, at, 0, pages);
                }
            }
        }
        self.need.once = false;
        complete & self.plan_allotments(object, BlockRange::new(first, count))
    }

    /// Plans to write a run of blocks one by one. Returns how many need a new block, or `None` if
    /// data is missing.
    pub(crate) fn plan_blocks(&mut self, object: ObjectId, first: BlockNumber, count: u64) -> Option<u64> {
        let mut at = first;
        let mut new = 0;
        let mut complete = true;
        while at < first + count {
            let index = index_in(at, 0);
            let n = self.allotments.run(object, at, (first + count - at).min((FANOUT - index) as u64)) as usize;
            let pages = self.need.lasting_pages();
            match self.plan_path(object, at, 0, index..index + n, false) {
                Some(k) => {
                    new += k as u64;
                    self.touch_allotment(object, at, k as u64, pages);
                }
                None => complete = false,
            }
            at += n as u64;
        }
        complete.then_some(new)
    }

    /// Like `plan_blocks`, for content that is at its place. False if data is missing.
    pub(crate) fn plan_placed(&mut self, object: ObjectId, first: BlockNumber, count: u64) -> bool {
        self.need.stores_nothing = true;
        let planned = self.plan_blocks(object, first, count);
        self.need.stores_nothing = false;
        planned.is_some()
    }

    /// Counts the pages above a run of blocks once more, for content of which some blocks are zero and others are
    /// not: zeros may empty a page, which the rest then needs anew. No page is needed anew twice, since it is not
    /// empty then. They are passing: as many pages come free.
    pub(crate) fn plan_recreated(&mut self, object: ObjectId, first: BlockNumber, count: u64) {
        let root_level = self.root_of(object).map_or(0, |root| root.level);
        // What is in one leaf is written at once.
        let lowest = u8::from(!self.allotments.has(object));
        let last = first + count.saturating_sub(1);
        if first.page(0) != last.page(0) || lowest == 0 {
            let pages = (lowest..=root_level).map(|level| last.page(level) - first.page(level) + 1).sum::<u64>();
            self.need.allocations += pages;
            self.need.passing += pages;
        }
    }

    /// Like [`Self::plan_content`], for blocks of zeros.
    pub(crate) fn plan_zeros(&mut self, object: ObjectId, first: BlockNumber, count: u64) -> Option<u64> {
        self.need.stores_nothing = true;
        let planned = self.plan_content(object, first, count);
        self.need.stores_nothing = false;
        planned
    }

    /// Like `plan_blocks`, for content of which `zero` says which blocks are zero. Returns how many of the others
    /// need a new block.
    pub(crate) fn plan_mixed(&mut self, object: ObjectId, first: BlockNumber, zero: &[bool]) -> Option<u64> {
        let (mut at, mut new) = (first, Some(0));
        self.need.once = true;
        for run in zero.chunk_by(|one, other| one == other) {
            self.need.stores_nothing = run.first() == Some(&true);
            let planned = self.plan_blocks(object, at, run.len() as u64);
            let stored = if self.need.stores_nothing { planned.map(|_| 0) } else { planned };
            new = new.zip(stored).map(|(sum, stored)| sum + stored);
            at += run.len() as u64;
        }
        (self.need.stores_nothing, self.need.once) = (false, false);
        if zero.contains(&true) && zero.contains(&false) {
            self.plan_recreated(object, first, zero.len() as u64);
        }
        new
    }

    /// Like `plan_blocks`, for content of which no block is zero: no page becomes empty, so each is
    /// counted once.
    pub(crate) fn plan_content(&mut self, object: ObjectId, first: BlockNumber, count: u64) -> Option<u64> {
        self.need.once = true;
        let planned = self.plan_blocks(object, first, count);
        self.need.once = false;
        planned
    }
}
