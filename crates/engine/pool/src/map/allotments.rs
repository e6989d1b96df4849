//! Allotments and the map: they follow its entries, and changes are planned with the promises that they
//! need.
//!
//! An allotment knows exactly how many of its blocks are mapped. So a change of the map that replaces an entry
//! above some of its blocks only has to count below it, for which planning reads the pages along the ends of the
//! allotment.

use crate::catalog::allotments::allotment::{Allotment, common, pages_below};
use crate::catalog::allotments::{Allotments, EVERYTHING, is_allottable};
use crate::catalog::is_user_object;
use crate::catalog::objects::Missed;
use crate::geometry::{entry_span, index_in};
use crate::interface::ObjectId;
use crate::interface::allotment::AllotmentChange;
use crate::interface::operation::ADDRESS_SPACE_BYTES;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::map::Map;
use crate::map::due::Due;
use crate::map::need::Touched;
use crate::map::page::Entry;
use crate::map::reserves::Ask;
use crate::map::together::Place;
use crate::mutations::{Mutation, leaves_out};
use media::BlockAddress;
use smallvec::SmallVec;

/// Piece of a range: level of the page whose entries change, first block, number of entries.
type Piece = (u8, BlockNumber, usize);
/// An allotment that a change concerns, and its part that the change reaches.
type Parts = SmallVec<[(BlockRange, BlockRange); 2]>;

/// Promises that allotments have after planned changes, at most.
#[derive(Default)]
pub(crate) struct Raises {
    raised: Vec<Raise>,
    /// Blocks whose promises end.
    released: u64,
}

struct Raise {
    object: ObjectId,
    of: BlockRange,
    /// Blocks that it promises before.
    before: u64,
    /// Blocks that it promises after the changes.
    after: u64,
}

impl Raises {
    /// Notes a change of an allotment. After a second one its numbers are not known.
    fn note(&mut self, object: ObjectId, of: BlockRange, before: u64, after: u64) {
        match self.raised.iter_mut().find(|known| known.object == object && known.of == of) {
            Some(known) => known.after = Allotment::most(of),
            None => self.raised.push(Raise { object, of, before, after }),
        }
    }

    /// Number of further blocks that must be promised.
    pub fn blocks(&self) -> u64 {
        let raised: u64 = self.raised.iter().map(|raise| raise.after.saturating_sub(raise.before)).sum();
        raised.saturating_sub(self.released)
    }
}

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
    fn united(&mut self, object: ObjectId, all: BlockRange) -> Option<Allotment> {
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
    fn rests(&mut self, object: ObjectId, range: BlockRange) -> Option<Vec<(BlockRange, Allotment)>> {
        let touching: SmallVec<[_; 4]> =
            self.allotments.touching(object, range).map(|(of, allotment)| (of, *allotment)).collect();
        let (mut rests, mut complete) = (Vec::new(), true);
        for (of, allotment) in touching {
            for part in outside(of, range) {
                let Some(mapped) = self.mapped_in(object, part) else {
                    complete = false;
                    continue;
                };
                let mut rest = Allotment::new(part, mapped);
                rest.shared = rest.shared.min(allotment.shared);
                rest.pages_due = rest.pages_due.min(allotment.pages_due);
                rest.beside = allotment.beside;
                rests.push((part, rest));
            }
        }
        complete.then_some(rests)
    }

    /// Plans to allot a range, and notes the promise. False if data is missing.
    pub(crate) fn plan_allot(&mut self, object: ObjectId, range: BlockRange, raises: &mut Raises) -> bool {
        let all = self.allotments.union(object, range);
        let before = self.allotments.touching(object, all).map(|(_, part)| part.promised()).sum();
        let Some(united) = self.united(object, all) else { return false };
        // Other changes of the step may share more of it than is now.
        let most = Allotment::most(all).min(united.count + united.pages_due + united.beside);
        raises.note(object, all, before, most);
        true
    }

    /// Plans to release a range, and notes the promises that end. False if data is missing.
    pub(crate) fn plan_release(&mut self, object: ObjectId, range: BlockRange, raises: &mut Raises) -> bool {
        let whole = self.allotments.touching(object, range).filter(|(of, _)| common(*of, range) == *of);
        raises.released += whole.map(|(_, allotment)| allotment.promised()).sum::<u64>();
        self.rests(object, range).is_some()
    }

    /// Carries out a change of allotments that was planned.
    pub(crate) fn assign_allotment(&mut self, change: &AllotmentChange) -> Option<()> {
        match *change {
            AllotmentChange::Allot { object, range } => self.assign_allot(object, range),
            AllotmentChange::Release { object, range } => self.assign_release(object, range),
            AllotmentChange::Count { object, range, shared, pages_due } => {
                self.allotments.change(object, range, |of, allotment| {
                    if of == range {
                        (allotment.shared, allotment.pages_due) = (0, 0);
                        allotment.raise(of, shared, pages_due);
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

    /// Plans what [`Self::assign_allotment`] reads. False if data is missing.
    pub(crate) fn plan_allotment(&mut self, change: &AllotmentChange) -> bool {
        let (object, range) = change.place();
        match change {
            AllotmentChange::Allot { .. } => self.plan_allot(object, range, &mut Raises::default()),
            AllotmentChange::Release { .. } => self.plan_release(object, range, &mut Raises::default()),
            AllotmentChange::Count { .. } => true,
        }
    }

    /// Allotted parts of a range, in order.
    pub(crate) fn allotted_in(&self, object: ObjectId, range: BlockRange) -> Vec<BlockRange> {
        self.allotments.touching(object, range).map(|(of, _)| common(of, range)).collect()
    }

    /// Plans how allotments follow a change of a range. False if data is missing.
    pub(super) fn plan_allotments(&mut self, object: ObjectId, range: BlockRange) -> bool {
        if !self.allotments.has(object) {
            return true;
        }
        let mut complete = true;
        for (_, part) in self.allotted_parts(object, range) {
            complete &= self.mapped_in(object, part).is_some();
        }
        complete
    }

    /// Plans how allotments follow a clone. False if data is missing.
    pub(super) fn plan_allotments_of_clone(
        &mut self,
        source: (ObjectId, BlockNumber),
        destination: (ObjectId, BlockNumber),
        count: u64,
    ) -> bool {
        if !self.allotments.has(source.0) && !self.allotments.has(destination.0) {
            return true;
        }
        self.raises_of_clone(source, destination, count, &mut Raises::default())
    }

    /// Notes the promises after a clone, which shares the blocks of both sides. False if data is missing.
    pub(crate) fn raises_of_clone(
        &mut self,
        source: (ObjectId, BlockNumber),
        destination: (ObjectId, BlockNumber),
        count: u64,
        raises: &mut Raises,
    ) -> bool {
        let phase = source.1.distance_from(destination.1);
        let pieces = self.pieces_of_clone(source, destination, count);
        let mut complete = true;
        for (of, part) in self.allotted_parts(source.0, BlockRange::new(source.1, count)) {
            let mapped = self.mapped_in(source.0, part);
            complete &= mapped.is_some();
            let pages = pages_in(&pieces, phase, part);
            let Some((_, now)) = self.allotments.at(source.0, of.first) else { continue };
            let mut after = *now;
            after.raise(of, mapped.unwrap_or(part.count), pages);
            raises.note(source.0, of, now.promised(), after.promised());
        }
        for (of, part) in self.allotted_parts(destination.0, BlockRange::new(destination.1, count)) {
            let before = self.mapped_in(destination.0, part);
            let from = BlockRange::new(part.first.at_distance(phase), part.count);
            let mapped = self.mapped_in(source.0, from);
            complete &= before.is_some() && mapped.is_some();
            let pages = pages_in(&pieces, 0, part);
            let Some((_, now)) = self.allotments.at(destination.0, of.first) else { continue };
            let (before, mapped) = (before.unwrap_or(0) as i64, mapped.unwrap_or(part.count) as i64);
            let mut after = *now;
            after.change(mapped - before, mapped);
            after.raise(of, 0, pages);
            raises.note(destination.0, of, now.promised(), after.promised());
        }
        complete
    }

    /// Blocks that must be promised in addition when all of an object becomes shared.
    pub(crate) fn promise_of_sharing_all(&self, object: ObjectId) -> u64 {
        let all = self.allotments.touching(object, EVERYTHING);
        all.map(|(of, allotment)| allotment.all_shared(of).promised() - allotment.promised()).sum()
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
            let gone = if old_is_shared { before } else { 0 };
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

    /// Marks the part of a request for space that the allotments of its object promise.
    pub(super) fn covered(&self, object: ObjectId, new: u64, ask: Ask) -> Ask {
        if !self.allotments.has(object) {
            return ask;
        }
        let surplus = self.pages_counted_twice(object);
        let (mut pages, mut blocks, mut beside, mut passing) = (0, 0, 0, 0);
        for touched in self.need.touched(object) {
            let Some((_, allotment)) = self.allotments.at(object, touched.first) else { continue };
            pages += touched.pages.min(allotment.pages_due);
            blocks += touched.blocks.min(allotment.blocks_due());
            passing += touched.blocks.saturating_sub(allotment.blocks_due());
            beside += if touched.is_written { allotment.beside } else { 0 };
        }
        // Detached trees may still share what was counted as the object's own: as much comes back when they are
        // given up.
        let passing = if self.has_detached() { passing.min(new) } else { 0 };
        let pages_passing = if self.has_detached() { surplus } else { 0 };
        let lasting = ask.lasting - surplus - passing;
        let passing = ask.passing + passing + pages_passing;
        let due = blocks.min(new);
        // Two concurrent writes of one block both take a block, and only one of these was promised.
        let covered_blocks = due.min(self.allotments.owed_to(object).saturating_sub(pages));
        let covered = (pages + covered_blocks + beside).min(lasting);
        Ask { lasting, covered, covered_blocks, taken: due - covered_blocks, passing, ..ask }
    }

    /// Pages that a plan has counted above allotments of an object, and that cannot be due: a plan may count a
    /// page several times.
    fn pages_counted_twice(&self, object: ObjectId) -> u64 {
        let surplus = |touched: &Touched| {
            let due = self.allotments.at(object, touched.first).map_or(0, |(_, allotment)| allotment.pages_due);
            touched.pages.saturating_sub(due)
        };
        self.need.touched(object).map(surplus).sum()
    }

    /// Reaches the blocks at both ends of a range, and at those of the allotments that it touches, in all places
    /// that earlier changes may have put there. False if data is missing.
    pub(crate) fn plan_ends(
        &mut self,
        object: ObjectId,
        range: BlockRange,
        reached: &mut dyn FnMut(Place) -> Vec<Place>,
    ) -> bool {
        let all = self.allotments.union(object, range);
        let mut complete = true;
        for part in self.allotments.gaps(object, all).into_iter().chain([range, all]).chain(outside(all, range)) {
            for block in [part.first, part.first + (part.count - 1)] {
                complete &= self.reach((object, block), 0);
                complete &= self.plan_reached((object, block), 0, reached);
            }
        }
        complete
    }

    /// [`Self::plan_ends`] for the parts of a range that are allotted.
    pub(super) fn plan_ends_of_parts(
        &mut self,
        object: ObjectId,
        range: BlockRange,
        reached: &mut dyn FnMut(Place) -> Vec<Place>,
    ) -> bool {
        let mut complete = true;
        for (_, part) in self.allotted_parts(object, range) {
            complete &= self.plan_ends(object, part, reached);
        }
        complete
    }

    /// Notes that a plan allocates `blocks` blocks in the allotment of this block, if it has one, and the lasting
    /// pages above `pages`.
    #[inline]
    pub(super) fn touch_allotment(&mut self, object: ObjectId, block: BlockNumber, blocks: u64, pages: u64) {
        if self.allotments.has(object)
            && let Some((of, _)) = self.allotments.at(object, block)
        {
            let pages = self.need.lasting_pages() - pages;
            self.need.touch(object, of.first, blocks, pages);
        }
    }

    /// Allotments that have blocks of a range, each with these blocks.
    fn allotted_parts(&self, object: ObjectId, range: BlockRange) -> Parts {
        self.allotments.touching(object, range).map(|(of, _)| (of, common(of, range))).collect()
    }

    /// Pieces in which a clone shares its blocks, by the blocks of the destination.
    fn pieces_of_clone(
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
                true => Some(allotment.blocks_due()),
                false => self.mapped_in(object, part).map(|mapped| part.count - mapped + allotment.shared.min(mapped)),
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
fn outside(of: BlockRange, range: BlockRange) -> impl Iterator<Item = BlockRange> {
    let (end, range_end) = (of.first + of.count, range.first + range.count);
    let before = BlockRange::new(of.first, range.first.max(of.first) - of.first);
    let behind = BlockRange::new(range_end.min(end), end - range_end.min(end));
    [before, behind].into_iter().filter(|part| part.count > 0)
}

/// Number of map pages of a part that pieces share; `phase`: distance in blocks to the part's place.
fn pages_in(pieces: &[Piece], phase: u64, part: BlockRange) -> u64 {
    let pages = pieces.iter().map(|(level, at, entries)| {
        let range = BlockRange::new(at.at_distance(phase), *entries as u64 * entry_span(*level));
        pages_below(common(range, part), *level)
    });
    pages.sum()
}
