//! Plan of all changes of a transaction: what has to be read first, and the space that they need in sum.

use super::allotments::table_growth;
use crate::core::Core;
use crate::core::admission::SMALL_BYTES;
use crate::core::operation::is_zero;
use crate::interface::ObjectId;
use crate::interface::allotment::AllotmentChange;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::map::need::Counts;
use crate::map::promises::Raises;
use crate::map::reserves::{Ask, Purpose};
use crate::mutations::{Mutation, leaves_out};
use crate::transaction::changes::{Changes, RangeChange};
use media::{BLOCK_BYTES, Media};
use smallvec::SmallVec;

/// Space for all changes of a transaction, and the order of those of single blocks.
pub(super) struct Plan {
    pub ask: Ask,
    /// Promises of allotments.
    pub raises: Raises,
    pub runs: Runs,
}

/// Space for the changes of one object.
///
/// Where an earlier change of the transaction has changed what is shared, the present state of the object
/// does not tell for how much it has a promise: that counts as unpromised.
#[derive(Default)]
struct Share {
    counts: Counts,
    /// New blocks of content.
    new: u64,
    /// Pages without a promise.
    unpromised_pages: Counts,
    /// New blocks of content without a promise.
    unpromised: u64,
}

/// Space for the changes of each object.
type Shares = SmallVec<[(ObjectId, Share); 2]>;

impl Share {
    fn add(&mut self, disturbed: bool, counts: Counts, new: u64) {
        if disturbed {
            self.unpromised_pages.add(counts);
            self.unpromised += new;
        } else {
            self.counts.add(counts);
            self.new += new;
        }
    }
}

/// Neighbouring blocks that get content, none of it zero or all of it.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub object: ObjectId,
    pub first: BlockNumber,
    pub count: u64,
    /// All of it is zero, and the object detects zeros.
    pub zero: bool,
}

/// Runs of content, those that are zero last.
pub(super) type Runs = SmallVec<[Run; 6]>;

/// Splits the content of blocks into runs.
fn runs(changes: &Changes, detects: impl Fn(ObjectId) -> bool) -> Runs {
    let (mut runs, mut zeros) = (Runs::new(), Runs::new());
    for ((object, block), content) in &changes.contents {
        let zero = is_zero(&content.data[..]) && detects(*object);
        let runs = if zero { &mut zeros } else { &mut runs };
        match runs.last_mut() {
            Some(run) if run.object == *object && run.first + run.count == *block => run.count += 1,
            _ => runs.push(Run { object: *object, first: *block, count: 1, zero }),
        }
    }
    runs.append(&mut zeros);
    runs
}

impl<M: Media> Core<M> {
    /// Plans all changes. `None` if something is missing, which is in the map's need.
    pub(super) fn plan_transaction(&mut self, changes: &Changes) -> Option<Plan> {
        let mut shares = Shares::new();
        let mut raises = Raises::default();
        let mut promise = 0;
        self.map.forget_need();
        let mut complete = self.plan_promises(changes, &mut raises);
        for (number, range) in changes.ranges.iter().enumerate() {
            let disturbed = is_disturbed(&changes.ranges[..number], range);
            complete &= self.plan_range(changes, number, disturbed);
            let counts = Counts { fresh: 0, ..self.map.take_counts() };
            share_of(&mut shares, range.changed().0).add(disturbed, counts, 0);
            if let RangeChange::Clone { source, object, count, .. } = range {
                promise += self.map.promise_of_sharing(*source, *object, *count);
            }
        }
        let mut fresh = 0;
        let runs = runs(changes, |object| self.detects_zeros(object));
        for run in &runs {
            let disturbed = self.is_run_disturbed(changes, run);
            let Some(new) = self.plan_run(changes, *run, disturbed) else {
                complete = false;
                continue;
            };
            let counts = self.map.take_run_counts();
            fresh += counts.fresh;
            share_of(&mut shares, run.object).add(disturbed, counts, if run.zero { 0 } else { new });
        }
        let promise = promise + raises.blocks();
        complete.then(|| Plan { ask: Ask { promise, ..self.ask_for_all(changes, &shares, fresh) }, raises, runs })
    }

    /// True if a run may find what changes of ranges have shared or freed.
    ///
    /// Zeros of other blocks leave a run what an allotment promises to it: the allotment then promises the blocks that
    /// they free as well, and pages above the run that they free are due again. Pages above mapped blocks stay, and
    /// are not shared, if all ranges of the object are elsewhere: a clone shares what is below the entries of its
    /// range, and zeros free pages without mapped blocks.
    fn is_run_disturbed(&mut self, changes: &Changes, run: &Run) -> bool {
        if !changes.ranges.iter().any(|range| range.disturbs(run.object)) {
            return false;
        }
        if changes.reaches(run.object, run.first, run.count) && !leaves_out(Mutation::ReachedRuns) {
            return true;
        }
        let is_of_run = |range: &&RangeChange| range.disturbs(run.object);
        let frees = |range: &RangeChange| !matches!(range, RangeChange::Clone { .. });
        if self.map.allotments().has(run.object) {
            let blocks = BlockRange::new(run.first, run.count);
            let allotted: u64 = self.map.allotted_in(run.object, blocks).iter().map(|part| part.count).sum();
            return allotted < run.count || !changes.ranges.iter().filter(is_of_run).all(frees);
        }
        if run.zero {
            return true;
        }
        let mut blocks = (0..run.count).map(|offset| run.first + offset);
        !blocks.all(|block| self.map.lookup(run.object, block).is_some_and(|entry| !entry.is_empty()))
    }

    fn plan_range(&mut self, changes: &Changes, number: usize, disturbed: bool) -> bool {
        let Some(range) = changes.ranges.get(number) else { return true };
        let (object, first, count) = range.changed();
        let reached = &mut |place| changes.reached(place, number);
        match (range, disturbed) {
            (RangeChange::Zero { .. }, false) => self.map.plan_pieces(object, first, count),
            (RangeChange::Zero { .. }, true) => self.map.plan_zero_after(object, first, count, reached),
            (RangeChange::Clone { source, source_first, .. }, false) => {
                self.map.plan_clone(*source, *source_first, object, first, count)
            }
            (RangeChange::Clone { source, source_first, .. }, true) => {
                self.map.plan_clone_after((*source, *source_first), (object, first), count, reached)
            }
            (RangeChange::Payload { zeros, .. }, false) => {
                if *zeros {
                    self.map.plan_recreated(object, first, count);
                }
                self.map.plan_placed(object, first, count)
            }
            (RangeChange::Payload { .. }, true) => self.map.plan_content_after(object, first, count, reached).is_some(),
        }
    }

    fn plan_run(&mut self, changes: &Changes, run: Run, disturbed: bool) -> Option<u64> {
        let Run { object, first, count, zero } = run;
        match disturbed {
            true => self
                .map
                .plan_content_after(object, first, count, &mut |place| changes.reached(place, changes.ranges.len())),
            false if zero => self.map.plan_zeros(object, first, count),
            false => {
                let planned = self.map.plan_content(object, first, count);
                // Zeros beside it may empty a page that it needs.
                if self.map.allotments().has(object) && changes.ranges.iter().any(|range| range.disturbs(object)) {
                    self.map.plan_recreated(object, first, count);
                }
                planned
            }
        }
    }

    /// Sum of the space for all objects.
    fn ask_for_all(&self, changes: &Changes, shares: &Shares, fresh: u64) -> Ask {
        let mut sum = Ask::default();
        let mut new = 0;
        for (object, share) in shares {
            let ask = self.map.ask_of(*object, share.new, share.counts);
            let pages = share.unpromised_pages;
            new += share.new + share.unpromised;
            // A promise may be short of pages: these are taken from free space.
            let lasting = match self.map.allotments().has(*object) {
                true => ask.lasting,
                false => ask.lasting.max(share.new + share.counts.allocations - share.counts.passing),
            };
            sum = Ask {
                lasting: sum.lasting + lasting + share.unpromised + pages.allocations - pages.passing,
                covered: sum.covered + ask.covered,
                covered_blocks: sum.covered_blocks + ask.covered_blocks,
                taken: sum.taken + ask.taken,
                passing: sum.passing + ask.passing + pages.passing,
                partial: sum.partial || ask.partial,
                ..sum
            };
            if leaves_out(Mutation::Sum) {
                sum = ask;
            }
        }
        let growth = table_growth(&self.map, &changes.allotments);
        let allots = changes.allotments.iter().any(|change| matches!(change, AllotmentChange::Allot { .. }));
        match allots {
            true => sum.lasting += growth,
            false => sum.passing += growth,
        }
        let any = |which: fn(&RangeChange) -> bool| changes.ranges.iter().any(which);
        let small = fresh == 0 && new * BLOCK_BYTES as u64 <= SMALL_BYTES as u64;
        let zeroes = any(|range| matches!(range, RangeChange::Zero { .. }));
        let shares_blocks = any(|range| matches!(range, RangeChange::Clone { .. }));
        let purpose = match () {
            () if shares_blocks || allots => Purpose::Storing,
            // Overwrites in place and zeros work in a full pool, and what frees space as well.
            () if new == 0 || (zeroes && small) => Purpose::Freeing,
            () if small => Purpose::Overwriting,
            () => Purpose::Storing,
        };
        Ask { purpose, ..sum }
    }
}

/// True if a change finds what earlier ones of the transaction have shared or freed.
fn is_disturbed(earlier: &[RangeChange], range: &RangeChange) -> bool {
    let objects = [Some(range.changed().0), range.source().map(|(source, _)| source)];
    objects.into_iter().flatten().any(|object| earlier.iter().any(|earlier| earlier.disturbs(object)))
}

fn share_of(shares: &mut Shares, object: ObjectId) -> &mut Share {
    let at = shares.iter().position(|(known, _)| *known == object).unwrap_or_else(|| {
        shares.push((object, Share::default()));
        shares.len() - 1
    });
    &mut shares[at].1
}
