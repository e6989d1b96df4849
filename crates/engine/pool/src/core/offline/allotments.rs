//! Allotments of a pool that is not in use: check, repair and dump.

use crate::catalog::allotments::allotment::Allotment;
use crate::core::Core;
use crate::core::offline::dump::Shown;
use crate::core::offline::rebuild::RepairReport;
use crate::interface::check::CheckReport;
use crate::interface::range::BlockRange;
use crate::interface::{ObjectId, PoolError};
use crate::map::due::Due;
use media::Media;
use std::cell::Cell;

impl<M: Media> Core<M> {
    /// All allotments, ordered by object and place.
    fn ordered_allotments(&self) -> Vec<(ObjectId, BlockRange, Allotment)> {
        let mut all: Vec<_> = self.map.allotments().all().map(|(object, range, of)| (object, range, *of)).collect();
        all.sort_unstable_by_key(|(object, range, _)| (*object, *range));
        all
    }

    /// Shows the allotments of an object, or all.
    pub(super) fn show_allotments(&self, id: Option<ObjectId>) -> Shown {
        let all = self.ordered_allotments().into_iter().filter(|(object, ..)| id.is_none_or(|id| id == *object));
        let all = all.map(|(object, range, of)| {
            Shown::Fields(vec![
                ("object", object.into()),
                ("first_block", range.first.into()),
                ("blocks", range.count.into()),
                ("mapped", of.mapped.into()),
                ("shared_at_most", of.shared.into()),
                ("pages_due_at_most", of.pages_due.into()),
                ("blocks_beside", of.beside.into()),
                ("unpromised", of.unpromised.into()),
                ("slot", u64::from(of.slot).into()),
            ])
        });
        Shown::List(all.collect())
    }

    /// Corrects what allotments say about the map.
    pub(super) fn recount_allotments(&mut self, report: &mut RepairReport) -> Result<(), PoolError> {
        for (object, range, allotment) in self.ordered_allotments() {
            let due = self.due_of(object, range)?;
            let too_few = allotment.shared < due.shared || allotment.pages_due < due.pages;
            if allotment.mapped != due.mapped || too_few {
                report.add(format!("{}: its numbers were wrong", place(object, range)));
                self.map.correct_allotment(object, range, due);
            }
        }
        Ok(())
    }

    /// Compares each allotment with the map.
    pub(super) fn check_allotments(&mut self, report: &mut CheckReport) {
        for (object, range, allotment) in self.ordered_allotments() {
            let place = place(object, range);
            match self.due_of(object, range) {
                Ok(due) => judge(&place, allotment, due, self.map.has_detached(), report),
                Err(error) => report.find(format!("{place}: {error}")),
            }
        }
    }

    /// Counts what a range is due, exactly. Blocks the thread.
    pub(super) fn due_of(&mut self, object: ObjectId, range: BlockRange) -> Result<Due, PoolError> {
        let end = range.first + range.count;
        let (mut at, mut sum) = (range.first, Due::default());
        while at < end {
            let step = Cell::new((at, sum));
            let complete = self.load_planned(|map| {
                let mut due = sum;
                let next = map.count_due(object, range, at, &mut due);
                step.set((next.unwrap_or(at), due));
                next.is_some()
            })?;
            if !complete {
                return Err(PoolError::Damaged(format!("the map at block {at} cannot be counted")));
            }
            (at, sum) = step.get();
        }
        Ok(sum)
    }
}

fn place(object: ObjectId, range: BlockRange) -> String {
    format!("object {object}: allotment of {} blocks at block {}", range.count, range.first)
}

/// Compares an allotment with its count. What it shares with `detached` trees only is not due.
fn judge(place: &str, allotment: Allotment, due: Due, detached: bool, report: &mut CheckReport) {
    if allotment.mapped != due.mapped {
        report.find(format!("{place}: {} blocks are mapped, it says {}", due.mapped, allotment.mapped));
    }
    if allotment.shared < due.shared && !detached {
        report.find(format!("{place}: {} blocks are shared, it says at most {}", due.shared, allotment.shared));
    }
    if allotment.pages_due < due.pages && !detached {
        report.find(format!("{place}: {} map pages are due, it says at most {}", due.pages, allotment.pages_due));
    }
}
