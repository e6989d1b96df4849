//! Plans of changes that follow others in one step. An earlier clone shares pages that a later change
//! then has to copy, and puts pages of its source where the later change finds them; an earlier range
//! of zeros frees pages that a later change then has to allocate again.
//!
//! Such a change is planned as if every page were shared. `reached` names the places, before all
//! changes, from which the map may take a page over a block: the block itself, and those from which
//! earlier clones filled it.

use crate::geometry::{FANOUT, entry_span, index_in};
use crate::interface::ObjectId;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::map::Map;
use crate::map::need::Counts;

/// Block of an object.
pub(crate) type Place = (ObjectId, BlockNumber);

impl Map {
    /// Takes the counts of the plan so far; those of another change begin. Missing data stays noted.
    pub(crate) fn take_counts(&mut self) -> Counts {
        self.need.take_counts()
    }

    /// Takes the counts of the plan so far; pages that it has counted are not counted again.
    pub(crate) fn take_run_counts(&mut self) -> Counts {
        let counts = self.need.counts();
        self.need.set_counts(Counts::default());
        counts
    }

    /// Plans to write a run of blocks, none of them zero or all of them. Returns how many need a new
    /// block, or `None` if data is missing.
    pub(crate) fn plan_content_after(
        &mut self,
        object: ObjectId,
        first: BlockNumber,
        count: u64,
        reached: &mut dyn FnMut(Place) -> Vec<Place>,
    ) -> Option<u64> {
        self.need.once = true;
        let mut complete = true;
        let mut new = 0;
        let mut at = first;
        while at < first + count {
            let index = index_in(at, 0);
            let n = self.allotments.run(object, at, (first + count - at).min((FANOUT - index) as u64)) as usize;
            match self.plan_path(object, at, 0, index..index + n, true) {
                Some(k) => new += k as u64,
                None => complete = false,
            }
            complete &= self.plan_reached((object, at), 0, reached);
            at += n as u64;
        }
        self.need.once = false;
        complete.then_some(new)
    }

    /// Plans to zero a run of blocks. False if data is missing.
    pub(crate) fn plan_zero_after(
        &mut self,
        object: ObjectId,
        first: BlockNumber,
        count: u64,
        reached: &mut dyn FnMut(Place) -> Vec<Place>,
    ) -> bool {
        let Some(root) = self.root_of(object) else { return false };
        let mut pieces = Vec::new();
        Self::pieces(root.level, first, count, 0, |level, at, entries| pieces.push((level, at, entries)));
        let mut complete = true;
        for (level, at, entries) in pieces {
            let from = index_in(at, level);
            complete &= self.plan_path(object, at, level, from..from + entries, true).is_some();
            complete &= self.plan_counts(object, at, level, entries);
            complete &= self.plan_reached((object, at), level, reached);
        }
        let range = BlockRange::new(first, count);
        complete & self.plan_allotments(object, range) & self.plan_ends_of_parts(object, range, reached)
    }

    /// Plans a clone. False if data is missing.
    pub(crate) fn plan_clone_after(
        &mut self,
        source: Place,
        destination: Place,
        count: u64,
        reached: &mut dyn FnMut(Place) -> Vec<Place>,
    ) -> bool {
        let (Some(root), Some(source_root)) = (self.root_of(destination.0), self.root_of(source.0)) else {
            return false;
        };
        let phase = source.1.distance_from(destination.1);
        let mut pieces = Vec::new();
        Self::pieces(root.level.min(source_root.level), destination.1, count, phase, |level, at, entries| {
            pieces.push((level, at, entries));
        });
        let mut complete = true;
        for (level, at, entries) in pieces {
            let from = at.at_distance(phase);
            let mut i = 0;
            while i < entries {
                let block = from + i as u64 * entry_span(level);
                let index = index_in(block, level);
                complete &= self.reach((source.0, block), level);
                complete &= self.plan_counts(source.0, block, level, (entries - i).min(FANOUT - index));
                complete &= self.plan_reached((source.0, block), level, reached);
                i += FANOUT - index;
            }
            let index = index_in(at, level);
            complete &= self.plan_path(destination.0, at, level, index..index + entries, true).is_some();
            complete &= self.plan_counts(destination.0, at, level, entries);
            complete &= self.plan_reached((destination.0, at), level, reached);
        }
        complete &= self.plan_allotments_of_clone(source, destination, count);
        for (object, first) in [source, destination] {
            complete &= self.plan_ends_of_parts(object, BlockRange::new(first, count), reached);
        }
        complete
    }

    /// Reaches the pages that earlier changes may have put over a block.
    pub(super) fn plan_reached(
        &mut self,
        place: Place,
        level: u8,
        reached: &mut dyn FnMut(Place) -> Vec<Place>,
    ) -> bool {
        let mut complete = true;
        for place in reached(place) {
            complete &= self.reach(place, level);
        }
        complete
    }

    /// Notes what is missing of the path to the page at `level` over a block, and of the counts of all
    /// that its pages point to. Allocates nothing. False if data is missing.
    pub(super) fn reach(&mut self, (object, block): Place, level: u8) -> bool {
        let Some(root) = self.root_of(object) else { return false };
        if root.level < level {
            return true;
        }
        let counted = self.need.counted();
        let complete = self.plan_path(object, block, level, 0..0, true).is_some();
        self.need.set_counted(counted);
        complete
    }
}
