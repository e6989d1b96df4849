//! Plans of changes that concern allotments: what has to be read, the promises that follow, and what a request for
//! space has promised already.

use crate::catalog::allotments::EVERYTHING;
use crate::catalog::allotments::allotment::{Allotment, common};
use crate::interface::ObjectId;
use crate::interface::allotment::AllotmentChange;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::map::Map;
use crate::map::allotments::{outside, pages_in};
use crate::map::need::Touched;
use crate::map::reserves::Ask;
use crate::map::together::Place;

/// Promises that allotments have after planned changes, at most.
#[derive(Default)]
pub(crate) struct Raises {
    raised: Vec<Raise>,
    /// Allotments that end as a whole, with the blocks that they promise.
    released: Vec<(ObjectId, BlockRange, u64)>,
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

    /// Number of further blocks that must be promised to one object.
    pub fn blocks_of(&self, object: ObjectId) -> u64 {
        self.sum(|of| of == object)
    }

    /// Number of further blocks that must be promised.
    pub fn blocks(&self) -> u64 {
        self.sum(|_| true)
    }

    fn sum(&self, counts: impl Fn(ObjectId) -> bool) -> u64 {
        let raised = self.raised.iter().filter(|raise| counts(raise.object));
        let raised: u64 = raised.map(|raise| raise.after.saturating_sub(raise.before)).sum();
        let released = self.released.iter().filter(|(object, ..)| counts(*object)).map(|(_, _, blocks)| blocks);
        raised.saturating_sub(released.sum())
    }
}

impl Map {
    /// Plans to allot a range, and notes the promise. False if data is missing.
    pub(crate) fn plan_allot(&mut self, object: ObjectId, range: BlockRange, raises: &mut Raises) -> bool {
        let all = self.allotments.union(object, range);
        // What ends in the same step is counted there.
        let ends = |of| raises.released.iter().any(|(of_object, range, _)| (*of_object, *range) == (object, of));
        let parts = self.allotments.touching(object, all).filter(|(of, _)| !ends(*of));
        let before = parts.map(|(_, part)| part.promised()).sum();
        let Some(united) = self.united(object, all) else { return false };
        // Other changes of the step may share more of it than is now.
        let most = Allotment::most(all).min(united.count + united.pages_due + united.beside);
        raises.note(object, all, before, most);
        true
    }

    /// Plans to release a range, and notes the promises that end. False if data is missing.
    pub(crate) fn plan_release(&mut self, object: ObjectId, range: BlockRange, raises: &mut Raises) -> bool {
        let whole = self.allotments.touching(object, range).filter(|(of, _)| common(*of, range) == *of);
        // What begins in the same step takes over the promises.
        let joins = |of| raises.raised.iter().any(|raise| raise.object == object && common(raise.of, of).count > 0);
        let ending: Vec<_> =
            whole.filter(|(of, _)| !joins(*of)).map(|(of, allotment)| (object, of, allotment.promised())).collect();
        raises.released.extend(ending);
        self.rests(object, range).is_some()
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
    pub(crate) fn promise_of_sharing_all(&self, object: ObjectId, overwrite_percent: u8) -> u64 {
        let all = self.allotments.touching(object, EVERYTHING);
        all.map(|(of, allotment)| allotment.all_shared(of, overwrite_percent).promised() - allotment.promised()).sum()
    }

    /// Marks the part of a request for space that the allotments of its object promise.
    pub(super) fn covered(&self, object: ObjectId, new: u64, ask: Ask) -> Ask {
        if !self.allotments.has(object) {
            return ask;
        }
        let surplus = self.pages_counted_twice(object);
        let (mut pages, mut blocks, mut beside, mut passing) = (0, 0, 0, 0);
        let mut partial = false;
        for touched in self.need.touched(object) {
            let Some((_, allotment)) = self.allotments.at(object, touched.first) else { continue };
            pages += touched.pages.min(allotment.pages_due);
            blocks += touched.blocks.min(allotment.blocks_promised());
            partial |= allotment.unpromised > 0 && touched.blocks + touched.pages > 0;
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
        Ask { lasting, covered, covered_blocks, taken: due - covered_blocks, passing, partial, ..ask }
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
}
