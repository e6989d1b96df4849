//! Map pages in memory: the cache, the pages changed in this epoch, and the paths that this epoch
//! owns.

use crate::checksum::Crc32c;
use crate::clock::{Clock, Verdict};
use crate::geometry::{PATH_PAGES, Pointer};
use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;
use crate::map::page::{PAGE_BYTES, Page};
use crate::map::sealing::{PlacedPages, Sealing};
use crate::mutations::{Mutation, leaves_out};
use media::BlockAddress;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Largest number of owned paths that are remembered.
const OWNED: usize = 16_384;

/// Exclusively owned path from an object's root to a page.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    pub object: ObjectId,
    /// Addresses of the pages; the index is the level.
    pub pages: [BlockAddress; PATH_PAGES],
    pub root_level: u8,
    pub level: u8,
    pub block: BlockNumber,
}

impl Path {
    /// Address of the page at the end of the path.
    pub fn page(&self) -> BlockAddress {
        self.pages[usize::from(self.level)]
    }
}

struct Cached {
    page: Rc<Page>,
    referenced: bool,
    /// Number of its place on the clock.
    place: u64,
}

/// Sealed pages that a checkpoint has to write, by address.
pub(crate) type SealedPages = BTreeMap<BlockAddress, Rc<Page>>;

/// Pages in memory.
pub(crate) struct Pages {
    by_address: FxHashMap<BlockAddress, Cached>,
    clock: Clock<BlockAddress>,
    /// Pages placed in this epoch.
    dirty: PlacedPages,
    /// Pages of the epoch before while they are being sealed.
    sealing: Option<Box<Sealing>>,
    /// Paths to leaves that this epoch owns, by object and number of the leaf.
    owned: FxHashMap<(ObjectId, u64), Path>,
    /// Number of changes of interior pages.
    changes: u64,
    epoch: u64,
    /// Epoch of the last durable checkpoint.
    committed_epoch: u64,
}

impl Pages {
    /// Creates an empty set of pages after the checkpoint of `committed_epoch`.
    pub fn new(committed_epoch: u64) -> Self {
        Self {
            by_address: FxHashMap::default(),
            clock: Clock::default(),
            dirty: PlacedPages::default(),
            sealing: None,
            owned: FxHashMap::default(),
            changes: 0,
            epoch: committed_epoch + 1,
            committed_epoch,
        }
    }

    /// Epoch of present changes.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Epoch of the last durable checkpoint.
    pub fn committed_epoch(&self) -> u64 {
        self.committed_epoch
    }

    /// Notes that the checkpoint of an epoch is durable: its pages may be evicted.
    pub fn commit(&mut self, epoch: u64) {
        self.committed_epoch = epoch;
        self.clock.restart();
    }

    /// Returns the page that a pointer names if it is in memory, and marks it as recently used.
    #[inline]
    pub fn get(&mut self, pointer: Pointer) -> Option<&Rc<Page>> {
        let cached = self.by_address.get_mut(&pointer.address)?;
        cached.referenced = true;
        match cached.page.is_named_by(pointer) || named_without_checksum(self.sealing.as_deref(), pointer, &cached.page)
        {
            true => Some(&cached.page),
            false => None,
        }
    }

    /// True if a pointer names the page that is in memory at its address.
    pub fn is_named(&self, page: &Page, pointer: Pointer) -> bool {
        page.is_named_by(pointer) || named_without_checksum(self.sealing.as_deref(), pointer, page)
    }

    /// Returns a page in memory.
    #[inline]
    pub fn peek(&self, address: BlockAddress) -> Option<&Rc<Page>> {
        Some(&self.by_address.get(&address)?.page)
    }

    /// Returns the page at `address` for a change. It must be owned.
    #[inline]
    pub fn page_mut(&mut self, address: BlockAddress) -> Option<&mut Page> {
        let page = &mut self.by_address.get_mut(&address)?.page;
        self.changes += u64::from(page.level() > 0);
        Some(Rc::make_mut(page))
    }

    /// Number of changes of interior pages: as long as it and the root page of an object stay, so does each pointer
    /// to its pages, but for the checksum.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Adds a page that was read or created.
    pub fn insert(&mut self, address: BlockAddress, page: Rc<Page>) {
        let place = self.clock.add(address);
        self.by_address.insert(address, Cached { page, referenced: true, place });
    }

    /// Adds a page that this epoch placed at `address`.
    pub fn insert_dirty(&mut self, address: BlockAddress, page: Rc<Page>) {
        self.dirty.push(page.level(), address);
        self.insert(address, page);
    }

    /// Removes a page from memory.
    pub fn remove(&mut self, address: BlockAddress) -> Option<Rc<Page>> {
        let page = self.by_address.remove(&address)?.page;
        if let Some(sealing) = &mut self.sealing
            && !leaves_out(Mutation::MovedPages)
        {
            sealing.hold(address, &page);
        }
        Some(page)
    }

    /// Owned path to the leaf that spans `block`.
    #[inline]
    pub fn owned(&self, object: ObjectId, block: BlockNumber) -> Option<&Path> {
        self.owned.get(&(object, block.page(0)))
    }

    /// Remembers an owned path to a leaf.
    pub fn note_owned(&mut self, path: Path) {
        if self.owned.len() >= OWNED {
            self.owned.clear();
        }
        self.owned.insert((path.object, path.block.page(0)), path);
    }

    /// Forgets all owned paths, because pages are shared, detached or frozen.
    pub fn disown(&mut self) {
        self.owned.clear();
    }

    /// Number of pages in memory.
    #[inline]
    pub fn count(&self) -> usize {
        self.by_address.len()
    }

    /// Bytes of the pages changed since the last freeze.
    #[inline]
    pub fn dirty_bytes(&self) -> usize {
        self.dirty.count() * PAGE_BYTES
    }

    /// Evicts clean pages that are not `pinned` while more than `limit` remain, least recently used first, as far as
    /// one walk of the clock comes. Returns the number of its steps.
    pub fn evict(&mut self, limit: usize, pinned: impl Fn(BlockAddress) -> bool) -> usize {
        let Self { by_address, clock, committed_epoch, .. } = self;
        let present = by_address.len();
        clock.walk(present.saturating_sub(limit), present, |address, place, evict| {
            let Some(cached) = by_address.get_mut(&address).filter(|cached| cached.place == place) else {
                return Verdict::Stale;
            };
            if !evict {
                return Verdict::Kept;
            }
            if cached.referenced || cached.page.epoch() > *committed_epoch || pinned(address) {
                cached.referenced = false;
                return Verdict::Kept;
            }
            by_address.remove(&address);
            Verdict::Evicted
        })
    }

    /// Number of pages changed in this epoch at each level, for [`Self::end_epoch`].
    pub fn placed(&self) -> [usize; PATH_PAGES] {
        self.dirty.counts()
    }

    /// Ends the epoch; its pages are sealed from now on. Operations placed the first `of_operations` of
    /// them, the pool's own streams have the others. Returns their number.
    pub fn end_epoch(&mut self, of_operations: [usize; PATH_PAGES]) -> usize {
        debug_assert!(self.sealing.is_none());
        let pages = std::mem::take(&mut self.dirty);
        let count = pages.count();
        self.sealing = Some(Box::new(Sealing::new(self.epoch, pages, of_operations)));
        self.epoch += 1;
        self.owned.clear();
        count
    }

    /// Seals the next page of the epoch that has ended, children first: of the pool's `own` streams, or
    /// of operations. Returns its level; `None` if all are sealed.
    pub fn seal_next(&mut self, own: bool) -> Option<u8> {
        let sealing = self.sealing.as_mut()?;
        let (level, address) = sealing.next(own)?;
        sealing.seal(address, self.by_address.get_mut(&address).map(|cached| &mut cached.page));
        Some(level)
    }

    /// Enters missing checksums of sealed pages into the pointers of the next interior page of this
    /// epoch. False if there is none.
    pub fn complete_next(&mut self) -> bool {
        let Some(sealing) = &mut self.sealing else { return false };
        let Some((_, address)) = sealing.next_present(&self.dirty) else { return false };
        if let Some(cached) = self.by_address.get_mut(&address)
            && cached.page.epoch() == self.epoch
            && sealing.completes(&cached.page)
            && !leaves_out(Mutation::CopiedPointers)
        {
            sealing.complete(Rc::make_mut(&mut cached.page));
        }
        true
    }

    /// Notes that a page of this epoch has got pointers from another page: some may lack their checksum.
    #[inline]
    pub fn note_copied_pointers(&mut self, level: u8, address: BlockAddress) {
        if level > 0 && self.sealing.is_some() {
            self.dirty.push(level, address);
        }
    }

    /// Adds the checksum to a pointer without one, if its page has been sealed since.
    #[inline]
    pub fn completed(&self, pointer: Pointer) -> Pointer {
        match &self.sealing {
            Some(sealing) if pointer.crc == Crc32c::NONE => Pointer { crc: sealing.crc(pointer.address), ..pointer },
            _ => pointer,
        }
    }

    /// Ends the sealing: returns the pages to write.
    pub fn end_sealing(&mut self) -> SealedPages {
        self.sealing.take().map_or_else(SealedPages::new, |sealing| sealing.into_sealed())
    }
}

/// True if a pointer names a page that was sealed after the pointer was made.
#[cold]
#[inline(never)]
fn named_without_checksum(sealing: Option<&Sealing>, pointer: Pointer, page: &Page) -> bool {
    sealing.is_some_and(|sealing| sealing.names(pointer, page))
}
