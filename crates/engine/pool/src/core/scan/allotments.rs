//! Count of the blocks that the allotments of an object are due, which makes their upper bounds exact.

use crate::core::Core;
use crate::core::progress::Progress;
use crate::core::scan::cursor::{AllotmentCount, Scan};
use crate::interface::ObjectId;
use crate::interface::allotment::AllotmentChange;
use crate::interface::operation::Output;
use crate::interface::range::BlockRange;
use crate::log::record;
use crate::map::due::Due;
use crate::schedule::step::Step;
use media::Media;

impl<M: Media> Core<M> {
    /// Counts the allotments of an object that may share blocks, one after the other.
    pub(super) fn recount_allotments_step(&mut self, object: ObjectId, progress: &mut Progress) -> Step {
        let mut scan = progress.scan.take().unwrap_or_else(|| {
            let ranges = self.map.allotments().to_count(object);
            let allotments = AllotmentCount { ranges, ..AllotmentCount::default() };
            Box::new(Scan { allotments, ..Scan::default() })
        });
        for _ in 0..self.scan_pages {
            let Some(range) = scan.allotments.ranges.last().copied() else {
                self.map.end_count(object);
                return match scan.allotments.logged {
                    true => Step::Durable(Output::Done),
                    false => Step::Done(Output::Done),
                };
            };
            let end = range.first + range.count;
            let number = match scan.allotments.number {
                Some(number) => number,
                None => {
                    (scan.block, scan.allotments.due) = (range.first, Due::default());
                    let number = self.map.begin_allotment_count(object, range);
                    *scan.allotments.number.insert(number)
                }
            };
            if scan.block < end {
                match self.map.count_due(object, range, scan.block, &mut scan.allotments.due) {
                    Some(next) => scan.block = next,
                    None if !self.map.need().is_empty() => {
                        progress.scan = Some(scan);
                        return Step::Wait;
                    }
                    // Its counts are damaged: the bounds stay.
                    None => {
                        scan.allotments.ranges.pop();
                        scan.allotments.number = None;
                    }
                }
            }
            if scan.allotments.number.is_some() && scan.block >= end {
                if !self.log_takes(record::allotment_bytes(1)) {
                    progress.scan = Some(scan);
                    return Step::LogFull;
                }
                scan.allotments.logged |= self.end_allotment_count(object, range, number, scan.allotments.due);
                scan.allotments.ranges.pop();
                scan.allotments.number = None;
            }
        }
        progress.scan = Some(scan);
        Step::Later
    }

    /// Lowers the bounds of an allotment to what was counted; true if that was logged.
    fn end_allotment_count(&mut self, object: ObjectId, range: BlockRange, number: u64, due: Due) -> bool {
        let Some((shared, pages_due)) = self.map.end_allotment_count(object, range, number, due) else { return false };
        let change = AllotmentChange::Count { object, range, shared, pages_due };
        if self.map.assign_allotment(&change).is_none() {
            return false;
        }
        self.log.append(|out| record::encode_allotments(out, &[change]));
        true
    }
}
