//! Descent of a difference: compares the maps of two objects by the addresses of their pages and blocks.
//!
//! A page or block that several parents name is never changed, so equal addresses prove equal content while both
//! objects exist (rule *proof*). Unequal addresses prove nothing, and neither do checksums. Like a scan, the descent
//! keeps a block between its turns, and no page. Roots of different levels are aligned at block 0: above the lower root
//! there is nothing but it.

use crate::core::scan::sessions::Pair;
use crate::geometry::{FANOUT, NARROW_LEVEL, Pointer, entry_span, index_in, page_span};
use crate::interface::BlockId;
use crate::interface::difference::{ChangedBlock, ChangedContent, ChangedRun, DifferenceStep, SharedTree};
use crate::interface::range::{BlockNumber, BlockRange};
use crate::map::Map;
use crate::map::page::{Entry, Page};
use crate::mutations::{Mutation, leaves_out};
use media::BlockAddress;
use std::rc::Rc;

/// Blocks of data that a step reports before it ends: 16 MiB of content.
const MOST_BLOCKS: usize = 4096;
/// Runs and shared sub-trees that a step reports before it ends.
const MOST_PARTS: usize = 1024;

/// State of a step of a difference between its turns.
pub(crate) struct Descent {
    /// Block to continue with.
    block: BlockNumber,
    /// Number of times that it has advanced.
    advances: usize,
    /// Blocks of data that `step` has.
    blocks: usize,
    step: DifferenceStep,
    /// Unreadable pages: address and reason.
    bad_pages: Vec<(BlockAddress, String)>,
}

/// Result of an advance.
pub(crate) enum Advance {
    /// The next block is another one.
    Moved,
    /// No block of the new object is left.
    End,
    /// Data has to be read first.
    Wait,
    /// A page above the next block cannot be read; a sentence.
    Damaged(String),
}

/// Both sides at one level of the descent.
struct Sides {
    base: Side,
    new: Side,
    level: u8,
}

/// One side at a level: the page there, or the root of a map that ends below the level.
struct Side {
    /// `None` where nothing is mapped.
    pointer: Option<Pointer>,
    page: Option<Rc<Page>>,
}

impl Side {
    /// Child at `index` of a page at `level` (≥ 1).
    fn child(&self, index: usize, level: u8) -> Option<Pointer> {
        match (&self.page, self.pointer) {
            (Some(page), _) => Some(page.entries[index].child_pointer(level)).filter(|child| !child.is_empty()),
            (None, lower_root) => lower_root.filter(|_| index == 0),
        }
    }

    /// Entry of a leaf.
    fn entry(&self, index: usize) -> Entry {
        self.page.as_ref().map_or(Entry::EMPTY, |page| page.entries[index])
    }

    /// True if every block below a child of a page at `level` is known to be mapped.
    fn is_full(&self, index: usize, level: u8) -> bool {
        let Some(page) = &self.page else { return false };
        level <= NARROW_LEVEL && page.entries[index].mapped(level) == entry_span(level)
    }
}

impl Sides {
    fn children(&self, index: usize) -> (Option<Pointer>, Option<Pointer>) {
        (self.base.child(index, self.level), self.new.child(index, self.level))
    }
}

/// True if two pages are one, or both are none.
fn is_same_page(base: Option<Pointer>, new: Option<Pointer>) -> bool {
    match (base, new) {
        (Some(base), Some(new)) if leaves_out(Mutation::Proof) => base.crc == new.crc,
        (Some(base), Some(new)) => (base.address, base.level) == (new.address, new.level),
        (base, new) => base.is_none() && new.is_none(),
    }
}

/// True if two entries of leaves name one block, or both none.
fn is_same_block(base: Entry, new: Entry) -> bool {
    base.address() == new.address() || (leaves_out(Mutation::Proof) && base.crc() == new.crc())
}

impl Descent {
    /// Begins a step at a block.
    pub fn from(block: BlockNumber) -> Self {
        Self { block, advances: 0, blocks: 0, step: DifferenceStep::default(), bad_pages: Vec::new() }
    }

    /// Number of times that it has advanced.
    pub fn advances(&self) -> usize {
        self.advances
    }

    /// True if its step reports enough.
    pub fn is_full(&self) -> bool {
        self.blocks >= MOST_BLOCKS || self.step.runs.len() + self.step.shared_trees.len() >= MOST_PARTS
    }

    /// Notes an unreadable page.
    pub fn note_bad_page(&mut self, address: BlockAddress, reason: &str) {
        self.bad_pages.push((address, reason.to_owned()));
    }

    /// Ends the step; with `ended`, at the end of the new object.
    pub fn into_step(mut self, ended: bool) -> DifferenceStep {
        self.step.next = (!ended).then_some(self.block);
        self.step
    }

    /// Compares from the next block on: passes over what is the same, and reports a leaf, or a range of zeros. The new
    /// object ends at block `end`. When pages are missing, reads up to `ahead` leaves that follow with them.
    pub fn advance(&mut self, map: &mut Map, pair: Pair, end: BlockNumber, ahead: usize) -> Advance {
        if self.block >= end {
            return Advance::End;
        }
        let root = |object| map.root_of(object).filter(|root| !root.is_empty());
        let (base, new) = (pair.base.and_then(root), root(pair.new));
        let Some(mut level) = [base, new].into_iter().flatten().map(|root| root.level).max() else {
            return Advance::End;
        };
        if self.block.get() >= page_span(level) {
            return Advance::End;
        }
        let spans = |root: &Pointer| self.block.get() < page_span(root.level);
        let (mut base, mut new) = (base.filter(spans), new.filter(spans));
        loop {
            if is_same_page(base, new) {
                return self.pass_to(self.block.next_page(level), end);
            }
            if !self.note_shared(map, new.filter(|page| page.level == level)) {
                return Advance::Wait;
            }
            if let Some(damage) = self.damage(pair, base, new, level) {
                return Advance::Damaged(damage);
            }
            let Some(sides) = sides(map, base, new, level) else { return Advance::Wait };
            if level == 0 {
                return self.compare_leaves(map, &sides, end);
            }
            let index = index_in(self.block, level);
            let same = |at: usize| {
                let (base, new) = sides.children(at);
                is_same_page(base, new)
            };
            let Some(at) = (index..FANOUT).find(|at| !same(*at)) else {
                return self.pass_to(self.block.next_page(level), end);
            };
            if at > index {
                let child = self.block.page(level - 1) + (at - index) as u64;
                self.block = BlockNumber::first_of_page(child, level - 1);
                if self.block >= end {
                    return Advance::End;
                }
            }
            (base, new) = sides.children(at);
            if new.is_none() && sides.base.is_full(at, level) {
                let next = self.block.next_page(level - 1).min(end);
                self.report_zeros(next - self.block);
                return self.pass_to(next, end);
            }
            if level == 1 {
                self.read_ahead(map, &sides, at, ahead);
            }
            level -= 1;
        }
    }

    /// A sentence if the page of one side at a level is known to be unreadable.
    fn damage(&self, pair: Pair, base: Option<Pointer>, new: Option<Pointer>, level: u8) -> Option<String> {
        let sides = [(pair.base, base), (Some(pair.new), new)];
        sides.into_iter().find_map(|(object, page)| {
            let page = page.filter(|page| page.level == level)?;
            let (_, reason) = self.bad_pages.iter().find(|(bad, _)| *bad == page.address)?;
            let first = BlockNumber::first_of_page(self.block.page(level), level);
            let last = BlockNumber::new(self.block.next_page(level).get() - 1);
            Some(format!("object {}, blocks {first} to {last}: {reason}", object?))
        })
    }

    fn pass_to(&mut self, block: BlockNumber, end: BlockNumber) -> Advance {
        self.block = block;
        self.advances += 1;
        if self.block >= end { Advance::End } else { Advance::Moved }
    }

    /// Notes the next leaves that differ as needed, from that at `index` on, if that one has to be read.
    fn read_ahead(&self, map: &mut Map, sides: &Sides, index: usize, ahead: usize) {
        let is_missing = |map: &Map, page: &Pointer| map.pages().peek(page.address).is_none();
        let (base, new) = sides.children(index);
        if ![base, new].iter().flatten().any(|page| is_missing(map, page)) {
            return;
        }
        let following = (index..FANOUT).map(|at| sides.children(at)).filter(|(base, new)| !is_same_page(*base, *new));
        for page in following.take(1 + ahead).flat_map(|(base, new)| [base, new]).flatten() {
            if is_missing(map, &page) && self.bad_pages.iter().all(|(bad, _)| *bad != page.address) {
                map.page(page);
            }
        }
    }

    /// Notes a page of the new object that has several parents, if the next block is the first that it spans. False if
    /// its count is missing.
    fn note_shared(&mut self, map: &mut Map, page: Option<Pointer>) -> bool {
        let Some(Pointer { address, level, .. }) = page else { return true };
        if self.block != BlockNumber::first_of_page(self.block.page(level), level) {
            return true;
        }
        map.need_counts(address);
        if !map.need().is_empty() {
            return false;
        }
        let range = BlockRange::new(self.block, page_span(level));
        let tree = SharedTree { page: BlockId(address.get()), level, range };
        let mut here = self.step.shared_trees.iter().rev().take_while(|known| known.range.first == self.block);
        if map.space().count(address) != Some(1) && !here.any(|known| *known == tree) {
            self.step.shared_trees.push(tree);
        }
        true
    }

    /// Reports the blocks of a leaf that are not the same.
    fn compare_leaves(&mut self, map: &mut Map, sides: &Sides, end: BlockNumber) -> Advance {
        let index = index_in(self.block, 0);
        let count = ((FANOUT - index) as u64).min(end - self.block) as usize;
        let differs = |at: &usize| !is_same_block(sides.base.entry(*at), sides.new.entry(*at));
        let changed: Vec<usize> = (index..index + count).filter(differs).collect();
        let entries: Vec<Entry> = changed.iter().map(|at| sides.new.entry(*at)).collect();
        map.need_counts_of(&entries);
        if !map.need().is_empty() {
            return Advance::Wait;
        }
        let next = self.block + count as u64;
        let first = self.block;
        for (at, entry) in changed.into_iter().zip(entries) {
            self.block = first + (at - index) as u64;
            if entry.is_empty() {
                self.report_zeros(1);
            } else {
                let is_shared = map.space().count(entry.address()) != Some(1);
                let block = BlockId(entry.address().get());
                self.report_data(ChangedBlock { block, crc: entry.crc().get(), is_shared });
            }
        }
        self.pass_to(next, end)
    }

    /// True if the last run ends in front of the next block.
    fn continues(&self) -> bool {
        self.step.runs.last().is_some_and(|run| run.first + run.range().count == self.block)
    }

    /// Reports zeros from the next block on.
    fn report_zeros(&mut self, more: u64) {
        let continues = self.continues();
        match self.step.runs.last_mut().map(|run| &mut run.content) {
            Some(ChangedContent::Zero(count)) if continues => *count += more,
            _ => self.step.runs.push(ChangedRun { first: self.block, content: ChangedContent::Zero(more) }),
        }
    }

    /// Reports the next block.
    fn report_data(&mut self, block: ChangedBlock) {
        self.blocks += 1;
        let continues = self.continues();
        match self.step.runs.last_mut().map(|run| &mut run.content) {
            Some(ChangedContent::Data(blocks)) if continues => blocks.push(block),
            _ => self.step.runs.push(ChangedRun { first: self.block, content: ChangedContent::Data(vec![block]) }),
        }
    }
}

/// Pages of both sides at a level. `None` if one is missing.
fn sides(map: &mut Map, base: Option<Pointer>, new: Option<Pointer>, level: u8) -> Option<Sides> {
    let mut side = |pointer: Option<Pointer>| match pointer.filter(|page| page.level == level) {
        Some(pointer) => map.page(pointer).map(|page| Side { pointer: Some(pointer), page: Some(page) }),
        None => Some(Side { pointer, page: None }),
    };
    // Both are looked up, so that missing ones are read at once.
    let (base, new) = (side(base), side(new));
    Some(Sides { base: base?, new: new?, level })
}
