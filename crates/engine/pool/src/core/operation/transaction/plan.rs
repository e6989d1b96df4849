//! Plan of all changes of a transaction: what has to be read first, and the space that they need in sum.

use crate::core::Core;
use crate::core::admission::SMALL_BYTES;
use crate::core::operation::is_zero;
use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;
use crate::map::need::Counts;
use crate::map::reserves::{Ask, Purpose};
use crate::mutations::{Mutation, leaves_out};
use crate::transaction::changes::{Changes, RangeChange};
use media::{BLOCK_BYTES, Media};

/// Space for all changes of a transaction.
pub(super) struct Plan {
    pub ask: Ask,
}

/// Space for the changes of one object.
#[derive(Default)]
struct Share {
    counts: Counts,
    /// New blocks of content, as far as the state of the object tells for which of them it has a promise.
    new: u64,
    /// New blocks of content where the transaction itself has changed what is shared.
    unpromised: u64,
}

/// Neighbouring blocks that get content, none of it zero or all of it.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub object: ObjectId,
    pub first: BlockNumber,
    pub count: u64,
}

/// Splits the content of blocks into runs: those that are zero, or those that are not.
pub(super) fn runs(changes: &Changes, zero: bool, detects: impl Fn(ObjectId) -> bool) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for ((object, block), data) in &changes.contents {
        if (detects(*object) && is_zero(&data[..])) != zero {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.object == *object && run.first + run.count == *block => run.count += 1,
            _ => runs.push(Run { object: *object, first: *block, count: 1 }),
        }
    }
    runs
}

impl<M: Media> Core<M> {
    /// Plans all changes. `None` if something is missing, which is in the map's need.
    pub(super) fn plan_transaction(&mut self, changes: &Changes) -> Option<Plan> {
        let mut shares: Vec<(ObjectId, Share)> = Vec::new();
        let mut complete = true;
        let mut promise = 0;
        self.map.forget_need();
        for (number, range) in changes.ranges.iter().enumerate() {
            complete &= self.plan_range(changes, number);
            let counts = Counts { fresh: 0, ..self.map.take_counts() };
            add(&mut shares, range.changed().0, |share| share.counts.add(counts));
            if let RangeChange::Clone { source, object, count, .. } = range {
                promise += self.map.promise_of_sharing(*source, *object, *count);
            }
        }
        let mut fresh = 0;
        for zero in [false, true] {
            for run in runs(changes, zero, |object| self.detects_zeros(object)) {
                let disturbed = changes.ranges.iter().any(|range| range.disturbs(run.object));
                let Some(new) = self.plan_run(changes, run, disturbed) else {
                    complete = false;
                    continue;
                };
                let counts = self.map.take_run_counts();
                fresh += counts.fresh;
                let new = if zero { 0 } else { new };
                add(&mut shares, run.object, |share| match disturbed {
                    true => {
                        share.counts.add(Counts { fresh: 0, ..counts });
                        share.unpromised += new;
                    }
                    false => {
                        share.counts.add(counts);
                        share.new += new;
                    }
                });
            }
        }
        complete.then(|| Plan { ask: Ask { promise, ..self.ask_for_all(changes, &shares, fresh) } })
    }

    fn plan_range(&mut self, changes: &Changes, number: usize) -> bool {
        let Some(range) = changes.ranges.get(number) else { return true };
        let (object, first, count) = range.changed();
        let earlier = &changes.ranges[..number];
        let disturbed = earlier.iter().any(|earlier| {
            earlier.disturbs(object) || range.source().is_some_and(|source| earlier.disturbs(source))
        });
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
            (RangeChange::Payload { .. }, false) => self.map.plan_blocks(object, first, count).is_some(),
            (RangeChange::Payload { .. }, true) => {
                self.map.plan_content_after(object, first, count, reached).is_some()
            }
        }
    }

    fn plan_run(&mut self, changes: &Changes, run: Run, disturbed: bool) -> Option<u64> {
        let Run { object, first, count } = run;
        match disturbed {
            true => self.map.plan_content_after(object, first, count, &mut |place| {
                changes.reached(place, changes.ranges.len())
            }),
            false => self.map.plan_content(object, first, count),
        }
    }

    /// Sum of the space for all objects.
    fn ask_for_all(&self, changes: &Changes, shares: &[(ObjectId, Share)], fresh: u64) -> Ask {
        let mut sum = Ask::default();
        let mut new = 0;
        for (object, share) in shares {
            let ask = self.map.ask_of(*object, share.new, share.counts);
            new += share.new + share.unpromised;
            sum = Ask {
                lasting: sum.lasting + ask.lasting + share.unpromised,
                covered: sum.covered + ask.covered,
                covered_blocks: sum.covered_blocks + ask.covered_blocks,
                taken: sum.taken + ask.taken,
                passing: sum.passing + ask.passing,
                partial: sum.partial || ask.partial,
                ..sum
            };
            if leaves_out(Mutation::Sum) {
                sum = ask;
            }
        }
        let any = |which: fn(&RangeChange) -> bool| changes.ranges.iter().any(which);
        let small = fresh == 0 && new * BLOCK_BYTES as u64 <= SMALL_BYTES as u64;
        let zeroes = any(|range| matches!(range, RangeChange::Zero { .. }));
        let shares_blocks = any(|range| matches!(range, RangeChange::Clone { .. }));
        let purpose = match () {
            () if shares_blocks => Purpose::Storing,
            // Overwrites in place and zeros work in a full pool, and what frees space as well.
            () if new == 0 || (zeroes && small) => Purpose::Freeing,
            () if small => Purpose::Overwriting,
            () => Purpose::Storing,
        };
        Ask { purpose, ..sum }
    }
}

fn add(shares: &mut Vec<(ObjectId, Share)>, object: ObjectId, change: impl FnOnce(&mut Share)) {
    match shares.iter_mut().find(|(known, _)| *known == object) {
        Some((_, share)) => change(share),
        None => {
            let mut share = Share::default();
            change(&mut share);
            shares.push((object, share));
        }
    }
}
