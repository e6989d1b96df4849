//! Changes of allotments by a transaction: their plan and their execution.
//!
//! They are carried out last. So what they count is the map after the other changes of the transaction, which
//! may have taken its pages from other places; the plan reads those as well.

use crate::catalog::allotments::MOST_ALLOTMENTS;
use crate::core::Core;
use crate::interface::allotment::AllotmentChange;
use crate::log::record;
use crate::map::Map;
use crate::map::promises::Raises;
use crate::schedule::step::Step;
use crate::transaction::changes::{Changes, RangeChange};
use block::BlockError;
use media::{FEATURE_ALLOTMENTS, Media};

impl<M: Media> Core<M> {
    /// Checks that the pool may take the changes of allotments. `Err`: what to do first.
    pub(super) fn takes_allotments(&mut self, changes: &Changes) -> Result<(), Step> {
        let allots = |change: &&AllotmentChange| matches!(change, AllotmentChange::Allot { .. });
        let new = changes.allotments.iter().filter(allots).count();
        let all = self.map.allotments().len();
        let cut = changes.allotments.len() - new;
        if (new > 0 && all + new > MOST_ALLOTMENTS) || all + cut > self.map.allotments().table().most() {
            return Err(Step::Fail(BlockError::PoolFull.into()));
        }
        match new == 0 || self.takes_feature(FEATURE_ALLOTMENTS) {
            true => Ok(()),
            false => Err(Step::LogFull),
        }
    }

    /// Plans the changes of allotments, and the promises that all changes need. False if data is missing.
    pub(super) fn plan_promises(&mut self, changes: &Changes, raises: &mut Raises) -> bool {
        let mut complete = true;
        for range in &changes.ranges {
            if let RangeChange::Clone { source, source_first, object, first, count } = range {
                let (from, to) = ((*source, *source_first), (*object, *first));
                complete &= self.map.raises_of_clone(from, to, *count, raises);
            }
        }
        for change in &changes.allotments {
            let (object, range) = change.place();
            complete &= match change {
                AllotmentChange::Allot { .. } => self.map.plan_allot(object, range, raises),
                AllotmentChange::Release { .. } => self.map.plan_release(object, range, raises),
                AllotmentChange::Count { .. } => true,
            };
            let reached = &mut |place| changes.reached(place, changes.ranges.len());
            complete &= self.map.plan_ends(object, range, reached);
        }
        complete
    }

    /// Carries the changes of allotments out and logs those that change something. `None` if the map contradicts
    /// itself.
    pub(super) fn commit_allotments(&mut self, changes: &[AllotmentChange]) -> Option<()> {
        let mut effective = Vec::with_capacity(changes.len());
        for change in changes {
            let (object, range) = change.place();
            let releases = matches!(change, AllotmentChange::Release { .. });
            if !releases || self.map.allotments().touching(object, range).next().is_some() {
                self.map.assign_allotment(change)?;
                effective.push(*change);
            }
        }
        if !effective.is_empty() {
            self.log.append(|out| record::encode_allotments(out, &effective));
        }
        Some(())
    }
}

/// Blocks by which the changes may enlarge the stored table of allotments, pages included.
pub(super) fn table_growth(map: &Map, changes: &[AllotmentChange]) -> u64 {
    let table = map.allotments().table();
    let more = table.blocks_with(changes.len()) - table.blocks();
    if more == 0 { 0 } else { more + Map::pages_of_stream(table.blocks() + more) }
}
