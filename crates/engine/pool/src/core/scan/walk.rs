//! Walk over every tree of a pool, counting the references to each block, in bounded memory and
//! with many reads in flight.
//!
//! A page with several parents is descended into once. References are counted for a window of
//! segments at a time: if they do not fit the given memory, the trees are walked again for the next
//! window. For tools: these functions block, and no other request may be in flight.

use crate::catalog::{ALLOTMENTS, DOCUMENTS, DROP_QUEUE, OBJECT_TABLE};
use crate::core::Core;
use crate::geometry::{Pointer, entry_span};
use crate::interface::range::BlockNumber;
use crate::interface::{ObjectId, PoolError};
use crate::map::page;
use crate::map::page::{Page, StatedMapped};
use crate::medium::blocking::read_many;
use crate::space::layout::{Layout, SEGMENT_BLOCKS};
use media::{BlockAddress, Media};
use rustc_hash::FxHashMap;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

/// Number of pages read at once.
pub(crate) const PAGES_AT_ONCE: usize = 128;
/// Memory of a segment's counts and of its table entry, in bytes.
const SEGMENT_MEMORY: usize = 2 * SEGMENT_BLOCKS as usize + 64;

const N: usize = SEGMENT_BLOCKS as usize;

/// Pointer to a page, with its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// Object through which the page was reached; 0: the drop queue.
    pub object: ObjectId,
    /// First block of the object that the page spans.
    pub first: BlockNumber,
    /// The page.
    pub pointer: Pointer,
    /// Number of mapped blocks below it according to the parent; `None` for a root.
    pub expected_mapped: Option<StatedMapped>,
}

/// Result of following a pointer.
pub(crate) enum Visit {
    /// The address is outside the data area.
    Outside,
    /// A page visited for the first time.
    Page(Rc<Page>),
    /// A page visited before; with its content if requested.
    Again(Option<Rc<Page>>),
    /// Not a page: the reason.
    Bad(String),
}

/// Set of visited pages, a bit each.
#[derive(Default)]
pub(crate) struct Pages {
    segments: FxHashMap<u32, Box<[u64; N / 64]>>,
    count: u64,
}

impl Pages {
    /// Adds a page; true if it is new.
    fn insert(&mut self, segment: u32, index: usize) -> bool {
        let words = self.segments.entry(segment).or_insert_with(|| Box::new([0; N / 64]));
        let (word, bit) = (index / 64, 1 << (index % 64));
        let new = words[word] & bit == 0;
        words[word] |= bit;
        self.count += u64::from(new);
        new
    }

    /// Number of pages.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// Walk over trees.
pub(crate) struct TreeWalk {
    stack: Vec<Item>,
    pub pages: Pages,
    /// Reads pages visited before again, to verify every pointer to them.
    verify: bool,
}

impl TreeWalk {
    /// Creates a walk over these roots.
    pub fn new(roots: Vec<Item>, verify: bool) -> Self {
        Self { stack: roots, pages: Pages::default(), verify }
    }

    /// Returns the next pointers, each with its result; `None` at the end. Pointers in newly
    /// visited pages follow later.
    pub fn next<M: Media>(&mut self, core: &mut Core<M>) -> Option<Vec<(Item, Visit)>> {
        if self.stack.is_empty() {
            return None;
        }
        let layout = core.map.space().layout();
        let at = self.stack.len().saturating_sub(PAGES_AT_ONCE);
        let items = self.stack.split_off(at);
        let mut visits: Vec<(Item, Visit)> = Vec::with_capacity(items.len());
        let mut unread: Vec<(usize, bool)> = Vec::new();
        for item in items.into_iter().rev() {
            let Pointer { address, level, .. } = item.pointer;
            let visit = match layout.locate(address) {
                None => Visit::Outside,
                Some((segment, index)) => {
                    let new = self.pages.insert(segment, index);
                    match core.map.pages().peek(address) {
                        _ if !new && !self.verify => Visit::Again(None),
                        Some(cached) if !core.map.pages().is_named(cached, item.pointer) => {
                            Visit::Bad(format!("map page {address} at level {level} was replaced by another page"))
                        }
                        Some(cached) if new => Visit::Page(cached.clone()),
                        Some(cached) => Visit::Again(Some(cached.clone())),
                        None => {
                            unread.push((visits.len(), new));
                            Visit::Again(None)
                        }
                    }
                }
            };
            visits.push((item, visit));
        }
        let runs: Vec<_> = unread.iter().map(|(at, _)| (visits[*at].0.pointer.address, 1)).collect();
        for ((at, new), block) in unread.into_iter().zip(read_many(core.medium.media_mut(), &runs)) {
            let (item, visit) = &mut visits[at];
            let Pointer { address, level, crc } = item.pointer;
            *visit = match block.and_then(|block| Page::parse(&block, address, level, crc)) {
                Ok(page) if new => Visit::Page(Rc::new(page)),
                Ok(page) => Visit::Again(Some(Rc::new(page))),
                Err(reason) => Visit::Bad(reason),
            };
        }
        for (item, visit) in &visits {
            if let Visit::Page(page) = visit
                && page.level() > 0
            {
                self.stack.extend(children(item, page));
            }
        }
        Some(visits)
    }
}

/// Pointers in an interior page.
pub(crate) fn children<'a>(item: &Item, page: &'a Page) -> impl Iterator<Item = Item> + use<'a> {
    let (level, object, first) = (page.level(), item.object, item.first);
    let used = page.entries.iter().enumerate().filter(move |(_, entry)| level > 0 && !entry.is_empty());
    used.map(move |(index, entry)| Item {
        object,
        first: first + index as u64 * entry_span(level),
        pointer: entry.child_pointer(level),
        expected_mapped: Some(entry.stated_mapped(level)),
    })
}

/// Mapped entries of a leaf.
pub(crate) fn leaf_entries(page: &Page) -> impl Iterator<Item = &page::Entry> {
    let leaf = page.level() == 0;
    page.entries.iter().filter(move |entry| leaf && !entry.is_empty())
}

/// Reference counts for the blocks of a window of segments.
pub(crate) struct Tally {
    layout: Layout,
    from: u32,
    /// End of the window, exclusive; decreases when memory runs out.
    to: u32,
    /// Number of segments that fit the memory.
    limit: usize,
    counts: FxHashMap<u32, Box<[u16; N]>>,
    held: BinaryHeap<u32>,
}

impl Tally {
    /// Creates a tally from segment `from` on, limited by `memory_bytes`.
    pub fn new(layout: Layout, from: u32, memory_bytes: usize) -> Self {
        Self {
            layout,
            from,
            to: layout.segments(),
            limit: (memory_bytes / SEGMENT_MEMORY).max(1),
            counts: FxHashMap::default(),
            held: BinaryHeap::new(),
        }
    }

    /// Ends the window before the segments in use, according to the index, exceed the memory.
    pub fn expect(&mut self, in_use: impl Fn(u32) -> bool) {
        if self.limit as u64 >= u64::from(self.to - self.from) {
            return;
        }
        if let Some(end) = (self.from..self.to).filter(|segment| in_use(*segment)).nth(self.limit) {
            self.to = end;
        }
    }

    /// First segment that was not counted: start of the next window.
    pub fn end(&self) -> u32 {
        self.to
    }

    /// Segments of the window.
    pub fn window(&self) -> std::ops::Range<u32> {
        self.from..self.to
    }

    /// Counts a reference and returns the previous count; `Ok(None)` outside the window, `Err`
    /// outside the data area.
    pub fn add(&mut self, address: BlockAddress) -> Result<Option<u16>, ()> {
        let (segment, index) = self.layout.locate(address).ok_or(())?;
        if segment < self.from || segment >= self.to {
            return Ok(None);
        }
        if let Entry::Vacant(vacant) = self.counts.entry(segment) {
            vacant.insert(Box::new([0; N]));
            self.held.push(segment);
            while self.counts.len() > self.limit {
                let Some(last) = self.held.pop() else { break };
                self.counts.remove(&last);
                self.to = last;
            }
        }
        let Some(counts) = self.counts.get_mut(&segment) else { return Ok(None) };
        let before = counts[index];
        counts[index] = before.saturating_add(1);
        Ok(Some(before))
    }

    /// Counts of the blocks of a segment; `None`: no references.
    pub fn counts(&self, segment: u32) -> Option<&[u16; N]> {
        self.counts.get(&segment).map(|counts| &**counts)
    }

    /// Number of blocks that have references.
    pub fn in_use(&self) -> u64 {
        self.counts.values().map(|counts| counts.iter().filter(|count| **count > 0).count() as u64).sum()
    }
}

/// True for the pool's own objects, whose blocks are metadata.
pub(crate) fn is_own(object: ObjectId) -> bool {
    matches!(object, OBJECT_TABLE | DOCUMENTS | DROP_QUEUE | ALLOTMENTS)
}

impl<M: Media> Core<M> {
    /// Roots of all trees: of objects by id, then of the drop queue.
    pub(crate) fn all_roots(&self) -> Vec<Item> {
        let objects = self.map.objects().all().filter_map(|object| {
            let (object, pointer) = (object.id, object.pointer());
            (!pointer.is_empty()).then_some(Item { object, first: BlockNumber::FIRST, pointer, expected_mapped: None })
        });
        let drops = self.map.drops().all().map(|dropped| Item {
            object: ObjectId::NONE,
            first: BlockNumber::FIRST,
            pointer: dropped.pointer,
            expected_mapped: None,
        });
        // The walk takes the last item first.
        let mut roots: Vec<Item> = objects.chain(drops).collect();
        roots.reverse();
        roots
    }

    /// Counts the references to the blocks of one window. Passes unreadable pages to `bad`. Returns
    /// the pages, and the number of blocks in the pool's own streams.
    pub(crate) fn tally(
        &mut self,
        tally: &mut Tally,
        bad: &mut dyn FnMut(&Item, String),
    ) -> Result<(Pages, u64), PoolError> {
        let mut walk = TreeWalk::new(self.all_roots(), false);
        let mut own = 0;
        while let Some(visits) = walk.next(self) {
            for (item, visit) in &visits {
                let outside = |address: BlockAddress| format!("block address {address} lies outside the data area");
                match visit {
                    Visit::Outside => bad(item, outside(item.pointer.address)),
                    Visit::Bad(reason) => bad(item, reason.clone()),
                    Visit::Page(page) => {
                        for entry in leaf_entries(page) {
                            own += u64::from(is_own(item.object));
                            if tally.add(entry.address()).is_err() {
                                bad(item, outside(entry.address()));
                            }
                        }
                    }
                    Visit::Again(_) => {}
                }
                // An address outside was reported above.
                let _ = tally.add(item.pointer.address);
            }
        }
        Ok((walk.pages, own))
    }
}
