//! Allotments and the map: they follow its entries, and changes are planned with the promises that they
//! need.
//!
//! An allotment knows exactly how many of its blocks are mapped. So a change of the map that replaces an entry
//! above some of its blocks only has to count below it, for which planning reads the pages along the ends of the
//! allotment.

use crate::catalog::allotments::allotment::{Allotment, common, pages_below};
use crate::catalog::allotments::{Allotments, is_allottable};
use crate::catalog::is_user_object;
use crate::catalog::objects::Missed;
use crate::geometry::{entry_span, index_in};
use crate::interface::ObjectId;
use crate::interface::allotment::AllotmentChange;
use crate::interface::operation::ADDRESS_SPACE_BYTES;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::map::Map;
use crate::map::due::Due;
use crate::map::page::Entry;
use crate::mutations::{Mutation, leaves_out};
use media::BlockAddress;
use smallvec::SmallVec;

/// Piece of a range: level of the page whose entries change, first block, number of entries.
pub(super) type Piece = (u8, BlockNumber, usize);
/// An allotment that a change concerns, and its part that the change reaches.
pub(super) type Parts = SmallVec<[(BlockRange, BlockRange); 2]>;

impl Map {
    /// Allotments.
    #[inline]
    pub(crate) fn allotments(&self) -> &Allotments {
        &self.allotments
    }

    /// Takes over the allotments of the last checkpoint.
    pub(crate) fn load_allotments(&mut self, found: Vec<(ObjectId, BlockRange, Allotment)>) -> Result<(), String> {
        for (object, range, allotment) in found {
            if !self.is_address_space(object) {
                return Err(format!("object {object} has allotments, and is no address space"));
            }
            self.allotments.load(object, range, allotment)?;
        }
        Ok(())
    }

    /// Changed blocks of the stored table of allotments, which a freeze writes.
    pub(crate) fn take_changed_allotments(&mut self) -> Vec<(BlockNumber, Box<[u8; media::BLOCK_BYTES]>)> {
        self.allotments.take_changed_blocks()
    }

    /// True for an object that may have allotments.
    pub(crate) fn is_address_space(&self, object: ObjectId) -> bool {
        self.objects.length(object) == ADDRESS_SPACE_BYTES
    }

    /// Promised blocks that are not yet taken: of reserved volumes, and of allotments.
    #[inline]
    pub(crate) fn owed_blocks(&self) -> u64 {
        self.objects.promises().owed + self.allotments.owed()
    }

    /// Promised blocks: of reserved volumes, and of allotments.
    pub(crate) fn promised_blocks(&self) -> u64 {
        self.objects.promises().promised + self.allotments.promised()
    }

    /// True if an operation could have logged this change.
    pub(crate) fn takes_allotment(&self, change: &AllotmentChange) -> bool {
        let (object, range) = change.place();
        is_user_object(object) && self.is_address_space(object) && is_allottable(range)
    }

    /// Allots a range: what it touches and overlaps becomes one allotment with it.
    pub(crate) fn assign_allot(&mut self, object: ObjectId, range: BlockRange) -> Option<()> {
        let all = self.allotments.union(object, range);
        let allotment = self.united(object, all)?;
        self.allotments.put(object, all, allotment)?;
        self.count_soon(&allotment);
        Some(())
    }

    /// Numbers of an allotment of a range that is the union of allotments and others.
    pub(super) fn united(&mut self, object: ObjectId, all: BlockRange) -> Option<Allotment> {
        let mut mapped = Some(0);
        for gap in self.allotments.gaps(object, all) {
            mapped = mapped.zip(self.mapped_in(object, gap)).map(|(sum, mapped)| sum + mapped);
        }
        // Nothing is known of what was not allotted.
        let mut united = Allotment::new(all, mapped?);
        for (_, part) in self.allotments.touching(object, all) {
            united.mapped += part.mapped;
            united.shared += part.shared;
            united.beside = united.beside.max(part.beside);
        }
        Some(united)
    }

    /// Ends the promises in a range. Allotments that reach beyond it keep the rest.
    pub(crate) fn assign_release(&mut self, object: ObjectId, range: BlockRange) -> Option<()> {
        let rests = self.rests(object, range)?;
        self.allotments.take(object, range);
        for (of, rest) in rests {
            self.allotments.put(object, of, rest)?;
            self.count_soon(&rest);
        }
        Some(())
    }

    /// Requests a count of an allotment that shares blocks, as far as is known.
    fn count_soon(&mut self, allotment: &Allotment) {
        if allotment.shared > 0 {
            self.objects.request_recount();
        }
    }

    /// What remains of allotments when a range is released.
    pub(super) fn rests(&mut self, object: ObjectId, range: BlockRange) -> Option<Vec<(BlockRange, Allotment)>> {
        let touching: SmallVec<[_; 4]> =
            self.allotments.touching(object, range).map(|(of, allotment)| (of, *allotment)).collect();
        let (mut rests, mut complete) = (Vec::new(), true);
        for (of, allotment) in touching {
            let mut unpromised = allotment.unpromised;
            for part in outside(of, range) {
                let Some(mapped) = self.mapped_in(object, part) else {
                    complete = false;
                    continue;
                };
                let mut rest = Allotment::new(part, mapped);
                rest.shared = rest.shared.min(allotment.shared);
                rest.pages_due = rest.pages_due.min(allotment.pages_due);
                rest.beside = allotment.beside;
                rest.unpromised = unpromised.min(rest.blocks_due());
                unpromised -= rest.unpromised;
                rests.push((part, rest));
            }
        }
        complete.then_some(rests)
    }

    /// Carries out a change of allotments that was planned.
    pub(crate) fn assign_allotment(&mut self, change: &AllotmentChange) -> Option<()> {
        match *change {
            AllotmentChange::Allot { object, range } => self.assign_allot(object, range),
            AllotmentChange::Release { object, range } => self.assign_release(object, range),
            AllotmentChange::Count { object, range, shared, pages_due } => {
                self.allotments.change(object, range, |of, allotment| {
                    if of == range {
                        let before = allotment.blocks_due();
                        (allotment.shared, allotment.pages_due) = (0, 0);
                        allotment.raise(of, shared, pages_due);
                        // What is no longer shared needs no promise.
                        let fewer = before.saturating_sub(allotment.blocks_due());
                        allotment.unpromised = allotment.unpromised.saturating_sub(fewer);
                    }
                    Missed::default()
                });
                Some(())
            }
        }
    }

    /// Corrects what an allotment says about the map, for a repair.
    pub(crate) fn correct_allotment(&mut self, object: ObjectId, range: BlockRange, due: Due) {
        self.allotments.change(object, range, |_, allotment| {
            (allotment.mapped, allotment.shared, allotment.pages_due) = (due.mapped, due.shared, due.pages);
            Missed::default()
        });
    }

    /// Allotted parts of a range, in order.
    pub(crate) fn allotted_in(&self, object: ObjectId, range: BlockRange) -> Vec<BlockRange> {
        self.allotments.touching(object, range).map(|(of, _)| common(of, range)).collect()
    }

    /// Notes that a clone has shared the blocks of its source.
    pub(super) fn allotments_of_source_shared(
        &mut self,
        source: (ObjectId, BlockNumber),
        destination: (ObjectId, BlockNumber),
        count: u64,
    ) -> Option<()> {
        if !self.allotments.has(source.0) || leaves_out(Mutation::BothSides) {
            return Some(());
        }
        let phase = source.1.distance_from(destination.1);
        let pieces = self.pieces_of_clone(source, destination, count);
        for (of, part) in self.allotted_parts(source.0, BlockRange::new(source.1, count)) {
            let mapped = self.mapped_in(source.0, part)?;
            let pages = pages_in(&pieces, phase, part);
            self.allotments.change(source.0, one(of), |of, allotment| allotment.raise(of, mapped, pages));
        }
        Some(())
    }

    /// Notes that pages below entries of a page at `level`, from block `at` on, were detached or replaced by
    /// shared ones.
    pub(super) fn allotted_pages_left(&mut self, object: ObjectId, (level, at, entries): Piece) {
        if level > 0 && self.allotments.has(object) {
            let range = BlockRange::new(at, entries as u64 * entry_span(level));
            self.allotments
                .change(object, range, |of, allotment| allotment.raise(of, 0, pages_below(common(of, range), level)));
        }
    }

    /// Notes that the entry over `block` in a page at `level` is replaced: what the old one maps is shared or
    /// not, what the new one maps is shared.
    #[inline]
    pub(super) fn allotted_entry_replaced(
        &mut self,
        object: ObjectId,
        (level, block): (u8, BlockNumber),
        (old, old_is_shared): (Entry, bool),
        new: Entry,
    ) -> Option<()> {
        match self.allotments.has(object) && !(old.is_empty() && new.is_empty()) {
            true => self.replace_allotted(object, (level, block), (old, old_is_shared), new),
            false => Some(()),
        }
    }

    /// [`Self::allotted_entry_replaced`] for the entries of the page at `address`, from that of block `at` on, which
    /// have replaced those in `old` and whose blocks are shared.
    #[inline]
    pub(super) fn allotted_entries_exchanged(
        &mut self,
        object: ObjectId,
        (level, at): (u8, BlockNumber),
        address: BlockAddress,
        old: &[Entry],
    ) -> Option<()> {
        match self.allotments.has(object) {
            true => self.exchange_allotted(object, (level, at), address, old),
            false => Some(()),
        }
    }

    #[cold]
    fn exchange_allotted(
        &mut self,
        object: ObjectId,
        (level, at): (u8, BlockNumber),
        address: BlockAddress,
        old: &[Entry],
    ) -> Option<()> {
        for (i, old) in old.iter().enumerate() {
            let block = at + i as u64 * entry_span(level);
            let new = self.pages.peek(address)?.entries[index_in(block, level)];
            let shared = !old.is_empty() && self.space.count(old.address()).is_some_and(|count| count > 1);
            self.allotted_entry_replaced(object, (level, block), (*old, shared), new)?;
        }
        Some(())
    }

    #[cold]
    fn replace_allotted(
        &mut self,
        object: ObjectId,
        (level, block): (u8, BlockNumber),
        (old, old_is_shared): (Entry, bool),
        new: Entry,
    ) -> Option<()> {
        for (of, part) in self.allotted_parts(object, BlockRange::new(block, entry_span(level))) {
            let before = self.mapped_by_entry((level, block), old, part)? as i64;
            let after = self.mapped_by_entry((level, block), new, part)? as i64;
            let gone = if old_is_shared { self.off_bounds(before as u64) as i64 } else { 0 };
            self.allotments.change(object, one(of), |_, allotment| {
                let kept = if leaves_out(Mutation::ReleasedWithBlock) { 0 } else { after - before };
                allotment.change(kept, after - gone);
                Missed { blocks: after as u64, pages: 0 }
            });
        }
        Some(())
    }

    /// Number of blocks in `part` that the entry over `block` in a page at `level` maps.
    fn mapped_by_entry(&mut self, (level, block): (u8, BlockNumber), entry: Entry, part: BlockRange) -> Option<u64> {
        if entry.is_empty() {
            return Some(0);
        }
        if level == 0 || part.count == entry_span(level) {
            return self.mapped_by(level, &[entry]);
        }
        let from = part.first - block;
        self.mapped_below(entry.child_pointer(level), from..from + part.count)
    }

    /// Allotments that have blocks of a range, each with these blocks.
    pub(super) fn allotted_parts(&self, object: ObjectId, range: BlockRange) -> Parts {
        self.allotments.touching(object, range).map(|(of, _)| (of, common(of, range))).collect()
    }

    /// Pieces in which a clone shares its blocks, by the blocks of the destination.
    pub(super) fn pieces_of_clone(
        &self,
        source: (ObjectId, BlockNumber),
        destination: (ObjectId, BlockNumber),
        count: u64,
    ) -> SmallVec<[Piece; 8]> {
        let level = |object| self.root_of(object).map_or(0, |root| root.level);
        let phase = source.1.distance_from(destination.1);
        let mut pieces = SmallVec::new();
        Self::pieces(level(source.0).min(level(destination.0)), destination.1, count, phase, |level, at, entries| {
            pieces.push((level, at, entries));
        });
        pieces
    }

    /// Blocks of a range for which its allotments still promise space, at most: those that are unmapped or
    /// shared. `None` if pages are missing.
    pub(crate) fn promised_in(&mut self, object: ObjectId, range: BlockRange) -> Option<u64> {
        let touching: Vec<_> =
            self.allotments.touching(object, range).map(|(of, allotment)| (of, *allotment)).collect();
        let mut sum = Some(0);
        for (of, allotment) in touching {
            let part = common(of, range);
            let due = match part == of {
                true => Some(allotment.blocks_promised()),
                false => self.mapped_in(object, part).map(|mapped| {
                    let due = part.count - mapped + allotment.shared.min(mapped);
                    due.saturating_sub(allotment.unpromised)
                }),
            };
            sum = sum.zip(due).map(|(sum, due)| sum + due);
        }
        sum
    }
}

/// Range of the first block of an allotment.
const fn one(of: BlockRange) -> BlockRange {
    BlockRange::new(of.first, 1)
}

/// Parts of a range before and behind another one.
pub(super) fn outside(of: BlockRange, range: BlockRange) -> impl Iterator<Item = BlockRange> {
    let (end, range_end) = (of.first + of.count, range.first + range.count);
    let before = BlockRange::new(of.first, range.first.max(of.first) - of.first);
    let behind = BlockRange::new(range_end.min(end), end - range_end.min(end));
    [before, behind].into_iter().filter(|part| part.count > 0)
}

/// Number of map pages of a part that pieces share; `phase`: distance in blocks to the part's place.
pub(super) fn pages_in(pieces: &[Piece], phase: u64, part: BlockRange) -> u64 {
    let pages = pieces.iter().map(|(level, at, entries)| {
        let range = BlockRange::new(at.at_distance(phase), *entries as u64 * entry_span(*level));
        pages_below(common(range, part), *level)
    });
    pages.sum()
}
