//! Cursor of a scan: visits the map of an object leaf by leaf.
//!
//! The cursor keeps no pointers. It stores the next block of an object and descends from the root
//! each time, so each step sees the changes made since the previous one.

use crate::checksum::Crc32c;
use crate::geometry::{FANOUT, MAX_LEVEL, Pointer, page_span};
use crate::interface::ScanStep;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::interface::{ObjectId, Place};
use crate::map::Map;
use crate::map::due::Due;
use crate::map::page::{Entry, Page};
use crate::space::{STICKY, SpaceMap};
use media::BlockAddress;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
/// State of a scan between its turns.
#[derive(Default)]
pub(crate) struct Scan {
    /// Index of the object to continue with, in the list of objects of a count.
    pub(super) object: usize,
    /// Object to continue with in a scan of all objects; `None` at its start.
    pub(super) id: Option<ObjectId>,
    /// Block to continue with.
    pub(super) block: BlockNumber,
    /// By level: number of the span of the page last entered, plus one.
    pub(super) entered: [u64; MAX_LEVEL as usize + 1],
    /// Number of blocks and pages counted.
    pub(super) blocks: u64,
    pub(super) pages: u64,
    pub(super) places: Vec<Place>,
    pub(super) pages_seen: FxHashMap<BlockAddress, u32>,
    pub(super) blocks_seen: FxHashMap<BlockAddress, u32>,
    /// Range of addresses whose shared blocks this pass tracks.
    pub(super) window: std::ops::Range<BlockAddress>,
    pub(super) first_pass: bool,
    pub(super) verify: Option<Verify>,
    /// Of a step that shares equal blocks.
    pub(super) resharing: Option<Box<Resharing>>,
    /// Of a count of allotments.
    pub(super) allotments: AllotmentCount,
    /// Unreadable pages: address and reason.
    pub(super) bad_pages: Vec<(BlockAddress, String)>,
}

/// Count of the allotments of an object between its turns.
#[derive(Default)]
pub(crate) struct AllotmentCount {
    /// Allotments to be counted, the next one last.
    pub(super) ranges: Vec<BlockRange>,
    /// Number of the count of the present allotment, once it has begun.
    pub(super) number: Option<u64>,
    /// Counted so far of it.
    pub(super) due: Due,
    /// True if a count has been logged.
    pub(super) logged: bool,
}

/// Leaf whose blocks are being read.
pub(super) struct Verify {
    pub(super) step: ScanStep,
    pub(super) outstanding: u32,
    /// Mismatches: block of the object, address, CRC.
    pub(super) suspects: Vec<(BlockNumber, BlockAddress, Crc32c)>,
    pub(super) round: u8,
}

/// What a step that shares equal blocks keeps between its attempts.
#[derive(Default)]
pub(super) struct Resharing {
    /// Blocks that cannot be read.
    pub(super) unreadable: Vec<(BlockAddress, Crc32c)>,
    /// Blocks that an earlier attempt found equal, which no attempt may rely on.
    pub(super) remembered: FxHashSet<BlockNumber>,
}

/// Result of a descent.
pub(super) enum Visit {
    /// Leaf at or after the scan's block: the first block it spans, and the page.
    Leaf(BlockNumber, Rc<Page>),
    /// No leaf up to the end of the object.
    End,
    /// Data has to be read first.
    Wait,
}

/// Decision of a scan about a page.
pub(super) enum Enter {
    /// Descend below the page.
    Yes,
    /// Skip the blocks that the page spans.
    No,
    /// Data has to be read first.
    Wait,
}

impl Scan {
    /// Starts another object.
    pub(super) fn begin(&mut self, object: usize, block: BlockNumber) {
        (self.object, self.block) = (object, block);
        self.entered = Default::default();
    }

    /// Starts the first object of the pool that has this id or a larger one.
    pub(super) fn begin_object(&mut self, id: ObjectId) {
        self.id = Some(id);
        self.begin(0, BlockNumber::FIRST);
    }

    /// Begins the first pass of a count.
    pub(super) fn first_pass(block: BlockNumber) -> Self {
        Self { block, window: BlockAddress::NONE..BlockAddress::MAX, first_pass: true, ..Self::default() }
    }

    /// Begins another pass of a count, for the shared blocks that the one before did not track.
    pub(super) fn begin_pass(&mut self, block: BlockNumber) {
        self.window = self.window.end..BlockAddress::MAX;
        self.first_pass = false;
        self.pages_seen.clear();
        self.blocks_seen.clear();
        self.begin(0, block);
    }

    /// Counts the blocks of a leaf that nothing else refers to, according to the references met so
    /// far.
    pub(super) fn count_entries(&mut self, entries: &[Entry], space: &SpaceMap) {
        for entry in entries.iter().filter(|entry| !entry.is_empty()) {
            let address = entry.address();
            match space.count(address) {
                Some(1) => self.blocks += u64::from(self.first_pass),
                Some(STICKY) | None => {}
                Some(_) if !self.window.contains(&address) => {}
                Some(count) => {
                    let seen = self.blocks_seen.entry(address).or_default();
                    *seen += 1;
                    self.blocks += u64::from(*seen == u32::from(count));
                }
            }
        }
    }

    /// Notes an unreadable page, which the scan skips.
    pub fn note_bad_page(&mut self, address: BlockAddress, reason: &str) {
        self.bad_pages.push((address, reason.to_owned()));
    }

    /// True for an unreadable page.
    pub(super) fn is_bad_page(&self, address: BlockAddress) -> bool {
        self.bad_pages.iter().any(|(bad, _)| *bad == address)
    }

    /// Why pages are unreadable, a sentence for each.
    pub(super) fn bad_page_reasons(&self) -> Vec<String> {
        self.bad_pages.iter().map(|(_, reason)| reason.clone()).collect()
    }

    /// Descends to the next leaf of an object at or after the scan's block. Calls `enter` once for
    /// each page.
    pub(super) fn visit(
        &mut self,
        map: &mut Map,
        object: ObjectId,
        mut enter: impl FnMut(&mut Map, &mut Self, Pointer) -> Enter,
    ) -> Visit {
        'from_root: loop {
            let Some(mut pointer) = map.root_of(object) else { return Visit::End };
            if pointer.is_empty() || self.block.get() >= page_span(pointer.level) {
                return Visit::End;
            }
            loop {
                let Pointer { address, level, .. } = pointer;
                let span = self.block.page(level);
                let at = usize::from(level);
                if let Some((_, reason)) = self.bad_pages.iter().find(|(bad, _)| *bad == address) {
                    if let Some(verify) = &mut self.verify {
                        verify.step.damaged.push(reason.clone());
                    }
                    self.block = self.block.next_page(level);
                    continue 'from_root;
                }
                // In the middle of a page's span, the page was already entered.
                if self.block == BlockNumber::first_of_page(span, level) && self.entered[at] != span + 1 {
                    match enter(map, self, pointer) {
                        Enter::Yes => self.entered[at] = span + 1,
                        Enter::No => {
                            self.block = self.block.next_page(level);
                            continue 'from_root;
                        }
                        Enter::Wait => return Visit::Wait,
                    }
                }
                let Some(page) = map.page(pointer) else { return Visit::Wait };
                if level == 0 {
                    return Visit::Leaf(BlockNumber::first_of_page(span, 0), page);
                }
                let index = crate::geometry::index_in(self.block, level);
                match page.entries[index..].iter().position(|entry| !entry.is_empty()) {
                    Some(0) => {
                        pointer = page.entries[index].child_pointer(level);
                    }
                    skip => {
                        let next = self.block.page(level - 1) + skip.unwrap_or(FANOUT - index) as u64;
                        self.block = BlockNumber::first_of_page(next, level - 1);
                        continue 'from_root;
                    }
                }
            }
        }
    }
}

/// Drops the upper half of the tracked blocks; a further pass counts them.
pub(super) fn narrow(scan: &mut Scan, count: impl Fn(BlockAddress) -> Option<u16>) {
    let mut addresses: Vec<BlockAddress> = scan.blocks_seen.keys().copied().collect();
    let middle = addresses.len() / 2;
    let (_, end, _) = addresses.select_nth_unstable(middle);
    let end = *end;
    let (blocks_seen, blocks) = (&mut scan.blocks_seen, &mut scan.blocks);
    blocks_seen.retain(|address, seen| {
        let keep = *address < end;
        if !keep && count(*address).map(u32::from) == Some(*seen) {
            *blocks -= 1;
        }
        keep
    });
    scan.window.end = end;
}
