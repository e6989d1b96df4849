//! Map pages in memory: the cache, the pages changed in this epoch, and the paths that this epoch
//! owns.

use crate::checksum::Crc32c;
use crate::clock::{Clock, Verdict};
use crate::geometry::PATH_PAGES;
use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;
use crate::map::page::{PAGE_BYTES, Page};
use media::BlockAddress;
use rustc_hash::FxHashMap;
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

/// Sealed page, with the address that a checkpoint writes it to.
pub(crate) type SealedPage = (BlockAddress, Rc<Page>);

/// Pages in memory.
pub(crate) struct Pages {
    by_address: FxHashMap<BlockAddress, Cached>,
    clock: Clock<BlockAddress>,
    /// Level and address of the pages placed in this epoch.
    dirty: Vec<(u8, BlockAddress)>,
    /// Paths to leaves that this epoch owns, by object and number of the leaf.
    owned: FxHashMap<(ObjectId, u64), Path>,
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
            dirty: Vec::new(),
            owned: FxHashMap::default(),
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

    /// Returns a page in memory, and marks it as recently used.
    #[inline]
    pub fn get(&mut self, address: BlockAddress) -> Option<&Rc<Page>> {
        let cached = self.by_address.get_mut(&address)?;
        cached.referenced = true;
        Some(&cached.page)
    }

    /// Returns a page in memory.
    #[inline]
    pub fn peek(&self, address: BlockAddress) -> Option<&Rc<Page>> {
        Some(&self.by_address.get(&address)?.page)
    }

    /// Returns the page at `address` for a change. It must be owned.
    #[inline]
    pub fn page_mut(&mut self, address: BlockAddress) -> Option<&mut Page> {
        Some(Rc::make_mut(&mut self.by_address.get_mut(&address)?.page))
    }

    /// Adds a page that was read or created.
    pub fn insert(&mut self, address: BlockAddress, page: Rc<Page>) {
        let place = self.clock.add(address);
        self.by_address.insert(address, Cached { page, referenced: true, place });
    }

    /// Adds a page that this epoch placed at `address`.
    pub fn insert_dirty(&mut self, address: BlockAddress, page: Rc<Page>) {
        self.dirty.push((page.level(), address));
        self.insert(address, page);
    }

    /// Removes a page from memory.
    pub fn remove(&mut self, address: BlockAddress) -> Option<Rc<Page>> {
        Some(self.by_address.remove(&address)?.page)
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

    /// Bytes of the pages changed since the last freeze.
    #[inline]
    pub fn dirty_bytes(&self) -> usize {
        self.dirty.len() * PAGE_BYTES
    }

    /// Evicts clean pages while more than `limit` remain, least recently used first, as far as one
    /// walk of the clock comes. Returns the number of its steps.
    pub fn evict(&mut self, limit: usize) -> usize {
        let Self { by_address, clock, committed_epoch, .. } = self;
        let present = by_address.len();
        clock.walk(present.saturating_sub(limit), present, |address, place, evict| {
            let Some(cached) = by_address.get_mut(&address).filter(|cached| cached.place == place) else {
                return Verdict::Stale;
            };
            if !evict {
                return Verdict::Kept;
            }
            if cached.referenced || cached.page.epoch() > *committed_epoch {
                cached.referenced = false;
                return Verdict::Kept;
            }
            by_address.remove(&address);
            Verdict::Evicted
        })
    }

    /// Computes the CRCs of the dirty pages from index `from` of the list on, children first, and
    /// stores them in their parents. Returns the length of the list.
    pub fn seal(&mut self, from: usize, crcs: &mut FxHashMap<BlockAddress, Crc32c>) -> usize {
        let mut list: Vec<(u8, BlockAddress)> = self.dirty[from..].to_vec();
        list.sort_unstable();
        list.dedup();
        for (level, address) in list {
            let Some(cached) = self.by_address.get_mut(&address) else { continue };
            if cached.page.epoch() != self.epoch {
                continue;
            }
            let page = Rc::make_mut(&mut cached.page);
            if level > 0 {
                for entry in &mut page.entries {
                    if !entry.is_empty()
                        && entry.crc() == Crc32c::NONE
                        && let Some(crc) = crcs.get(&entry.address())
                    {
                        *entry = entry.with_crc(*crc);
                    }
                }
            }
            crcs.insert(address, page.seal());
        }
        self.dirty.len()
    }

    /// Ends the epoch: returns its sealed pages, highest address first.
    pub fn freeze(&mut self, crcs: &FxHashMap<BlockAddress, Crc32c>) -> Vec<SealedPage> {
        let dirty = std::mem::take(&mut self.dirty);
        let sealed = dirty.into_iter().filter(|(_, address)| crcs.contains_key(address));
        let mut pages: Vec<_> =
            sealed.filter_map(|(_, address)| Some((address, self.peek(address)?.clone()))).collect();
        pages.sort_unstable_by_key(|(address, _)| std::cmp::Reverse(*address));
        self.epoch += 1;
        self.owned.clear();
        pages
    }
}
