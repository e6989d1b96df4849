//! Pages of an epoch that has ended: they get their checksums in slices, while operations change the
//! pages of the next epoch.
//!
//! The pages of an ended epoch never change. An operation that moves or frees one of them before it
//! has been sealed leaves it here. Children are sealed before their parents. Meanwhile pages of the
//! present epoch may take over pointers without a checksum to pages of the ended one; they get it when
//! all pages that operations placed are sealed. Afterwards only pages of the present epoch are named
//! without a checksum.

use crate::checksum::Crc32c;
use crate::geometry::{PATH_PAGES, Pointer};
use crate::map::page::Page;
use media::BlockAddress;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Addresses of pages in the order in which an epoch placed them, by level.
#[derive(Clone, Default)]
pub(super) struct PlacedPages([Vec<BlockAddress>; PATH_PAGES]);

impl PlacedPages {
    /// Adds a page.
    #[inline]
    pub fn push(&mut self, level: u8, address: BlockAddress) {
        if let Some(list) = self.0.get_mut(usize::from(level)) {
            list.push(address);
        }
    }

    /// Number of pages.
    #[inline]
    pub fn count(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// Number of pages at each level.
    pub fn counts(&self) -> [usize; PATH_PAGES] {
        self.0.each_ref().map(Vec::len)
    }

    /// Page after `cursor` among those in front of `end`, from level `least` on; moves the cursor behind
    /// it.
    pub fn next(
        &self,
        cursor: &mut [usize; PATH_PAGES],
        end: &[usize; PATH_PAGES],
        least: usize,
    ) -> Option<(u8, BlockAddress)> {
        for level in least..PATH_PAGES {
            if cursor[level] < end[level]
                && let Some(address) = self.0[level].get(cursor[level])
            {
                cursor[level] += 1;
                return Some((level as u8, *address));
            }
        }
        None
    }
}

/// Pages of an epoch that has ended.
pub(super) struct Sealing {
    epoch: u64,
    pages: PlacedPages,
    /// Number of pages at each level that operations placed; those behind them belong to the pool's own
    /// streams.
    of_operations: [usize; PATH_PAGES],
    /// Number of pages at each level that have been considered.
    considered: [usize; PATH_PAGES],
    /// Number of interior pages of the present epoch whose pointers have been considered.
    corrected: [usize; PATH_PAGES],
    /// Pages to be sealed that operations have moved or freed.
    held: FxHashMap<BlockAddress, Rc<Page>>,
    /// Checksums of sealed pages.
    crcs: FxHashMap<BlockAddress, Crc32c>,
    sealed: BTreeMap<BlockAddress, Rc<Page>>,
}

impl Sealing {
    /// Begins with `pages` of `epoch`; operations placed the first `of_operations` of them.
    pub fn new(epoch: u64, pages: PlacedPages, of_operations: [usize; PATH_PAGES]) -> Self {
        let crcs = FxHashMap::with_capacity_and_hasher(pages.count(), FxBuildHasher);
        Self {
            epoch,
            pages,
            of_operations,
            considered: [0; PATH_PAGES],
            corrected: [0; PATH_PAGES],
            held: FxHashMap::default(),
            crcs,
            sealed: BTreeMap::new(),
        }
    }

    /// True if the page is still to be sealed.
    pub fn lacks(&self, page: &Page) -> bool {
        page.epoch() == self.epoch && !page.is_sealed()
    }

    /// Keeps a page that an operation moves or frees.
    pub fn hold(&mut self, address: BlockAddress, page: &Rc<Page>) {
        if self.lacks(page) {
            self.held.insert(address, page.clone());
        }
    }

    /// True if a pointer names a sealed page whose checksum was not known when the pointer was made.
    pub fn names(&self, pointer: Pointer, page: &Page) -> bool {
        pointer.crc == Crc32c::NONE
            && page.is_named_by(Pointer { crc: self.crc(pointer.address), ..pointer })
            && page.epoch() == self.epoch
    }

    /// Checksum of the page at `address`; none if it is not known.
    pub fn crc(&self, address: BlockAddress) -> Crc32c {
        self.crcs.get(&address).copied().unwrap_or(Crc32c::NONE)
    }

    /// Next page to seal, with its level: of the pool's `own` streams, or of operations.
    pub fn next(&mut self, own: bool) -> Option<(u8, BlockAddress)> {
        let end = if own { self.pages.counts() } else { self.of_operations };
        self.pages.next(&mut self.considered, &end, 0)
    }

    /// Next interior page of the present epoch, in whose pointers checksums may be missing.
    pub fn next_present(&mut self, placed: &PlacedPages) -> Option<(u8, BlockAddress)> {
        placed.next(&mut self.corrected, &placed.counts(), 1)
    }

    /// Seals the page at `address`: one in memory, or one that was kept. False if it was freed in its
    /// own epoch.
    pub fn seal(&mut self, address: BlockAddress, in_memory: Option<&mut Rc<Page>>) -> bool {
        let mut held = self.held.remove(&address);
        let page = match (&mut held, in_memory) {
            (Some(page), _) => page,
            (None, Some(page)) if self.lacks(page) => page,
            _ => return false,
        };
        let changed = Rc::make_mut(page);
        self.complete(changed);
        self.crcs.insert(address, changed.seal());
        self.sealed.insert(address, page.clone());
        true
    }

    /// Enters known checksums into pointers without one.
    pub fn complete(&self, page: &mut Page) {
        if page.level() == 0 {
            return;
        }
        for entry in page.entries.iter_mut().filter(|entry| !entry.is_empty() && entry.crc() == Crc32c::NONE) {
            *entry = entry.with_crc(self.crc(entry.address()));
        }
    }

    /// True if a pointer in the page lacks a checksum that is known.
    pub fn completes(&self, page: &Page) -> bool {
        let lacking = page.entries.iter().filter(|entry| !entry.is_empty() && entry.crc() == Crc32c::NONE);
        lacking.map(|entry| self.crc(entry.address())).any(|crc| crc != Crc32c::NONE)
    }

    /// Sealed pages, by address.
    pub fn into_sealed(self) -> BTreeMap<BlockAddress, Rc<Page>> {
        self.sealed
    }
}
