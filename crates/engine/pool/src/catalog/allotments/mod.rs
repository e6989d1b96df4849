//! Allotments of all objects: ranges of address spaces for which space is promised, block by block.
//!
//! They are in memory, by object and first block; those of one object neither overlap nor touch. What an
//! allotment promises follows the map: the functions of the map that change an entry tell them. Their
//! numbers are stored in a table of their own, a block of which a freeze writes when one of its allotments
//! has changed.

pub(crate) mod allotment;
mod table;

pub(crate) use self::allotment::MOST_ALLOTMENTS;
pub(crate) use self::table::{MAX_TABLE_BYTES, decode as decode_table, is_allottable};

use self::allotment::{Allotment, between, common};
use self::table::Table;
use crate::catalog::objects::Missed;
use crate::geometry::page_span;
use crate::interface::ObjectId;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::mutations::{Mutation, leaves_out};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What several allotments promise.
#[derive(Default)]
struct Sum {
    promised: u64,
    /// Part of it for map pages.
    for_pages: u64,
}

impl Sum {
    fn add(&mut self, allotment: &Allotment) {
        self.promised += allotment.promised();
        self.for_pages += allotment.pages_promised();
    }

    fn subtract(&mut self, allotment: &Allotment) {
        self.promised -= allotment.promised();
        self.for_pages -= allotment.pages_promised();
    }
}

/// Allotments of one object.
#[derive(Default)]
struct Ranges {
    by_first: BTreeMap<BlockNumber, Allotment>,
    sum: Sum,
    /// Promised blocks that large writes in flight have already taken.
    in_flight: u64,
}

impl Ranges {
    /// Promised blocks that are not yet taken.
    fn owed(&self) -> u64 {
        self.sum.promised.saturating_sub(self.in_flight)
    }

    fn insert(&mut self, first: BlockNumber, allotment: Allotment) {
        self.sum.add(&allotment);
        self.by_first.insert(first, allotment);
    }

    fn remove(&mut self, first: BlockNumber, allotment: &Allotment) {
        self.sum.subtract(allotment);
        self.by_first.remove(&first);
    }

    /// Allotments that have blocks of a range, in order.
    fn touching(&self, range: BlockRange) -> impl Iterator<Item = (BlockRange, &Allotment)> {
        let before = self.by_first.range(..range.first).next_back();
        let inside = self.by_first.range(range.first..range.first + range.count);
        let all = before.into_iter().chain(inside).map(|(first, of)| (BlockRange::new(*first, of.count), of));
        all.filter(move |(of, _)| common(*of, range).count > 0)
    }
}

/// Set of all allotments. An allotment changes only through these methods, which keep the sums and note
/// what the next freeze has to write.
#[derive(Default)]
pub(crate) struct Allotments {
    objects: FxHashMap<ObjectId, Ranges>,
    promised: u64,
    owed: u64,
    table: Table,
    /// Counts in progress, by object.
    counts: FxHashMap<ObjectId, Counting>,
    /// Number of the last count.
    last_count: u64,
}

/// Count of what an allotment is due, and what it may have missed.
struct Counting {
    number: u64,
    range: BlockRange,
    missed: Missed,
}

impl Allotments {
    /// True if an object has allotments.
    #[inline]
    pub fn has(&self, object: ObjectId) -> bool {
        !self.objects.is_empty() && self.objects.contains_key(&object)
    }

    /// Number of all allotments.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Blocks promised by all of them.
    #[inline]
    pub fn promised(&self) -> u64 {
        self.promised
    }

    /// Promised blocks that are not yet taken.
    #[inline]
    pub fn owed(&self) -> u64 {
        self.owed
    }

    /// Stored form.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Allotments of all objects, in no order of the objects.
    pub fn all(&self) -> impl Iterator<Item = (ObjectId, BlockRange, &Allotment)> {
        self.objects.iter().flat_map(|(object, ranges)| {
            ranges.by_first.iter().map(|(first, of)| (*object, BlockRange::new(*first, of.count), of))
        })
    }

    /// Allotments of an object that have blocks of a range, in order.
    pub fn touching(&self, object: ObjectId, range: BlockRange) -> impl Iterator<Item = (BlockRange, &Allotment)> {
        self.objects.get(&object).into_iter().flat_map(move |ranges| ranges.touching(range))
    }

    /// Allotment of an object that has this block.
    pub fn at(&self, object: ObjectId, block: BlockNumber) -> Option<(BlockRange, &Allotment)> {
        let (first, of) = self.objects.get(&object)?.by_first.range(..=block).next_back()?;
        (block - *first < of.count).then_some((BlockRange::new(*first, of.count), of))
    }

    /// Number of blocks from `block` on, at most `most`, that are all in one allotment, or all in none.
    #[inline]
    pub fn run(&self, object: ObjectId, block: BlockNumber, most: u64) -> u64 {
        if self.has(object) { self.run_of(object, block, most) } else { most }
    }

    #[cold]
    fn run_of(&self, object: ObjectId, block: BlockNumber, most: u64) -> u64 {
        let run = BlockRange::new(block, most);
        match self.touching(object, run).next() {
            Some((of, _)) if of.first <= block => common(of, run).count,
            Some((of, _)) => of.first - block,
            None => most,
        }
    }

    /// Blocks promised by the allotments of an object.
    pub fn promised_to(&self, object: ObjectId) -> u64 {
        self.objects.get(&object).map_or(0, |ranges| ranges.sum.promised)
    }

    /// Part of [`Self::promised_to`] that is for map pages.
    pub fn pages_promised_to(&self, object: ObjectId) -> u64 {
        self.objects.get(&object).map_or(0, |ranges| ranges.sum.for_pages)
    }

    /// Promise of an object's allotments that large writes in flight have not taken.
    pub fn owed_to(&self, object: ObjectId) -> u64 {
        self.objects.get(&object).map_or(0, Ranges::owed)
    }

    /// Union of a range and the allotments that it overlaps or touches.
    pub fn union(&self, object: ObjectId, range: BlockRange) -> BlockRange {
        let wider = match range.first.get() {
            0 => BlockRange::new(range.first, range.count + 1),
            first => BlockRange::new(BlockNumber::new(first - 1), range.count + 2),
        };
        let (mut first, mut end) = (range.first, range.first + range.count);
        for (of, _) in self.touching(object, wider) {
            (first, end) = (first.min(of.first), end.max(of.first + of.count));
        }
        between(first, end)
    }

    /// Parts of a range that no allotment has.
    pub fn gaps(&self, object: ObjectId, range: BlockRange) -> Vec<BlockRange> {
        let mut gaps = Vec::new();
        let (mut at, end) = (range.first, range.first + range.count);
        for (of, _) in self.touching(object, range) {
            if of.first > at {
                gaps.push(between(at, of.first));
            }
            at = of.first + of.count;
        }
        if at < end {
            gaps.push(between(at, end));
        }
        gaps
    }

    /// Adds an allotment of a range, or replaces those inside it. It overlaps no other one.
    pub fn put(&mut self, object: ObjectId, range: BlockRange, mut allotment: Allotment) -> Option<()> {
        self.take(object, range);
        allotment.slot = self.table.take_slot((object, range.first))?;
        self.update(object, |ranges| ranges.insert(range.first, allotment));
        Some(())
    }

    /// Removes the allotments that have blocks of a range, and returns them.
    pub fn take(&mut self, object: ObjectId, range: BlockRange) -> Vec<(BlockRange, Allotment)> {
        let found: Vec<_> = self.touching(object, range).map(|(of, allotment)| (of, *allotment)).collect();
        if !found.is_empty() {
            self.counts.remove(&object);
        }
        for (of, allotment) in &found {
            self.table.give_slot(allotment.slot);
            self.update(object, |ranges| ranges.remove(of.first, allotment));
        }
        if self.objects.get(&object).is_some_and(|ranges| ranges.by_first.is_empty() && ranges.in_flight == 0) {
            self.objects.remove(&object);
        }
        found
    }

    /// Removes all allotments of an object.
    pub fn remove(&mut self, object: ObjectId) {
        let Some(ranges) = self.objects.remove(&object) else { return };
        self.promised -= ranges.sum.promised;
        self.owed -= ranges.owed();
        ranges.by_first.values().for_each(|of| self.table.give_slot(of.slot));
    }

    /// Changes the allotments of an object, and the sums.
    fn update(&mut self, object: ObjectId, change: impl FnOnce(&mut Ranges)) {
        let ranges = self.objects.entry(object).or_default();
        self.promised -= ranges.sum.promised;
        self.owed -= ranges.owed();
        change(ranges);
        self.promised += ranges.sum.promised;
        self.owed += ranges.owed();
    }

    /// Changes each allotment of an object that has blocks of a range. `change` returns what became due.
    pub fn change(
        &mut self,
        object: ObjectId,
        range: BlockRange,
        mut change: impl FnMut(BlockRange, &mut Allotment) -> Missed,
    ) {
        let Self { objects, promised, owed, table, counts, .. } = self;
        let Some(ranges) = objects.get_mut(&object) else { return };
        (*promised, *owed) = (*promised - ranges.sum.promised, *owed - ranges.owed());
        let before = ranges.by_first.range(..range.first).next_back().map(|(first, _)| *first);
        let from = before.unwrap_or(range.first);
        for (first, allotment) in ranges.by_first.range_mut(from..range.first + range.count) {
            let of = BlockRange::new(*first, allotment.count);
            if common(of, range).count == 0 {
                continue;
            }
            let old = *allotment;
            let more = change(of, allotment);
            // A count may have passed the place already, and the bound may have been too high before.
            if let Some(count) = counts.get_mut(&object).filter(|count| count.range == of) {
                count.missed.add(more);
            }
            if *allotment != old {
                ranges.sum.subtract(&old);
                ranges.sum.add(allotment);
                table.note_changed(allotment.slot);
            }
        }
        (*promised, *owed) = (*promised + ranges.sum.promised, *owed + ranges.owed());
    }

    /// Notes that a run of blocks, which [`Self::run`] has found, was written: `mapped` more of them are mapped,
    /// and `parted` no longer map a block that others use too.
    #[inline]
    pub fn wrote(&mut self, object: ObjectId, block: BlockNumber, mapped: i64, parted: u64) {
        if self.has(object) {
            self.change(object, BlockRange::new(block, 1), |_, of| {
                of.beside = 0;
                of.change(mapped, -(parted as i64));
                Missed::default()
            });
        }
    }

    /// Notes that all of an object was shared, with this overwrite reserve.
    pub fn share_all(&mut self, object: ObjectId, overwrite_percent: u8) {
        self.change(object, EVERYTHING, |of, allotment| {
            *allotment = allotment.all_shared(of, overwrite_percent);
            Missed { blocks: u64::MAX, pages: u64::MAX }
        });
    }

    /// Notes that an object has got a page of its own, which spans this block.
    #[inline]
    pub fn page_given(&mut self, object: ObjectId, block: BlockNumber, level: u8) {
        if self.has(object) {
            self.change(object, span_of(block, level), |_, of| {
                of.pages_due = of.pages_due.saturating_sub(1);
                Missed::default()
            });
        }
    }

    /// Notes that a page of an object is freed, which spanned this block.
    #[inline]
    pub fn page_freed(&mut self, object: ObjectId, block: BlockNumber, level: u8) {
        if self.has(object) && !leaves_out(Mutation::PagesAllotted) {
            self.change(object, span_of(block, level), |of, allotment| allotment.raise(of, 0, 1));
        }
    }

    /// Changes the number of promised blocks of an object that large writes have taken.
    pub fn change_in_flight(&mut self, object: ObjectId, change: impl FnOnce(u64) -> u64) {
        // They may have ended meanwhile.
        if self.objects.contains_key(&object) {
            self.update(object, |ranges| ranges.in_flight = change(ranges.in_flight));
            self.take(object, BlockRange::new(BlockNumber::FIRST, 0));
        }
    }

    /// Objects with allotments that may share blocks, and are not being counted.
    pub fn objects_to_count(&self) -> Vec<ObjectId> {
        let shares = |ranges: &Ranges| ranges.by_first.values().any(|of| of.shared > 0);
        let due = self.objects.iter().filter(|(object, ranges)| shares(ranges) && !self.counts.contains_key(object));
        let mut due: Vec<ObjectId> = due.map(|(object, _)| *object).collect();
        due.sort_unstable();
        due
    }

    /// Allotments of an object that may share blocks, the first one last.
    pub fn to_count(&self, object: ObjectId) -> Vec<BlockRange> {
        let sharing = self.touching(object, EVERYTHING).filter(|(_, allotment)| allotment.shared > 0);
        let mut ranges: Vec<BlockRange> = sharing.map(|(of, _)| of).collect();
        ranges.reverse();
        ranges
    }

    /// Begins a count of an allotment; returns its number. An earlier one of the same object has no result.
    pub fn begin_count(&mut self, object: ObjectId, range: BlockRange) -> u64 {
        self.last_count += 1;
        let number = self.last_count;
        self.counts.insert(object, Counting { number, range, missed: Missed::default() });
        number
    }

    /// Ends a count: what it may have missed; `None` if it has no result.
    pub fn end_count(&mut self, object: ObjectId, range: BlockRange, number: u64) -> Option<Missed> {
        let count = self.counts.get(&object).filter(|count| (count.number, count.range) == (number, range))?;
        let missed = count.missed;
        self.counts.remove(&object);
        Some(missed)
    }

    /// Gives up the count of an object.
    pub fn forget_count(&mut self, object: ObjectId) {
        self.counts.remove(&object);
    }

    /// Loads an allotment from the stored table.
    pub fn load(&mut self, object: ObjectId, range: BlockRange, allotment: Allotment) -> Result<(), String> {
        if self.touching(object, range).next().is_some() {
            return Err(format!("two allotments of object {object} overlap at block {}", range.first));
        }
        self.table.load_slot(allotment.slot, (object, range.first));
        self.update(object, |ranges| ranges.insert(range.first, allotment));
        Ok(())
    }

    /// Blocks of the stored table that have changed, and forgets them: each with its content.
    pub fn take_changed_blocks(&mut self) -> Vec<(BlockNumber, Box<[u8; media::BLOCK_BYTES]>)> {
        let Self { objects, table, .. } = self;
        table.take_changed(|(object, first)| objects.get(&object)?.by_first.get(&first).copied())
    }
}

/// All blocks of an address space.
pub(crate) const EVERYTHING: BlockRange = BlockRange::new(BlockNumber::FIRST, page_span(crate::geometry::MAX_LEVEL));

/// Blocks that the page at `level` over a block spans.
fn span_of(block: BlockNumber, level: u8) -> BlockRange {
    BlockRange::new(BlockNumber::first_of_page(block.page(level), level), page_span(level))
}
