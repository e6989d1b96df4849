//! Differences of snapshots: each step is compared with the model, block by block.

use super::Run;
use crate::model::BLOCK_SECTORS;
use crate::step::{Catalog, Request};
use pool::{
    BlockNumber, ChangedContent, DifferenceId, DifferenceStep, Failure, ObjectId, Operation, OperationId, Output,
    PoolError,
};
use std::collections::BTreeMap;

/// Most differences in progress.
const MOST: usize = 4;

/// Difference in progress.
pub(super) struct InProgress {
    id: DifferenceId,
    base: Option<u64>,
    new: u64,
    /// Block with which the next step begins, or the one in flight.
    next: u64,
    /// Step in flight.
    step: Option<OperationId>,
    /// Whether one of the objects was deleted, or got other content or another size.
    is_replaced: bool,
}

impl Run {
    /// Submits a step of a difference, unless one is in flight.
    pub(super) fn submit_difference(&mut self, base: Option<u64>, new: u64) -> Result<Option<OperationId>, String> {
        let wanted = |known: &InProgress| known.is_replaced && known.step.is_none();
        let of_these = |known: &InProgress| (known.base, known.new) == (base, new);
        let found = self.differences.iter().position(wanted).or_else(|| self.differences.iter().position(of_these));
        let at = match found {
            Some(at) => at,
            None if self.begin_difference(base, new)? => self.differences.len() - 1,
            None => return Ok(None),
        };
        let Some(known) = self.differences.get_mut(at).filter(|known| known.step.is_none()) else { return Ok(None) };
        let from = BlockNumber::new(known.next);
        let id = self.core.submit(Operation::DifferenceStep { difference: known.id, from });
        known.step = Some(id);
        Ok(Some(id))
    }

    /// Begins a difference; false if the pool refuses it, as it has to.
    fn begin_difference(&mut self, base: Option<u64>, new: u64) -> Result<bool, String> {
        let is_snapshot = |id: u64| self.model.objects.get(&id).map(|object| object.snapshot);
        let refused = base.into_iter().chain([new]).find(|id| is_snapshot(*id) != Some(true));
        let expected = refused.map(|id| match is_snapshot(id) {
            None => PoolError::NoSuchObject(ObjectId(id)),
            Some(_) => PoolError::NoSnapshot(ObjectId(id)),
        });
        match (self.core.begin_difference(base.map(ObjectId), ObjectId(new)), expected) {
            (Ok(id), None) => {
                if self.differences.len() == MOST {
                    let given_up = self.differences.remove(0);
                    self.core.end_difference(given_up.id);
                }
                self.differences.push(InProgress { id, base, new, next: 0, step: None, is_replaced: false });
                Ok(true)
            }
            (Err(error), Some(expected)) if error == expected => Ok(false),
            (found, expected) => {
                Err(format!("difference from {base:?} to {new}: {found:?}, expected to be refused with {expected:?}"))
            }
        }
    }

    /// Notes that a change has taken effect that ends the differences of some objects.
    pub(super) fn end_differences(&mut self, request: &Request) {
        let mut replaced = Vec::new();
        match request {
            Request::Capture { capture, .. } => replaced.push(*capture),
            Request::Catalog(changes) => {
                replaced.extend(changes.iter().filter_map(|change| match change {
                    Catalog::Delete { id } | Catalog::Resize { id, .. } | Catalog::Rollback { id, .. } => Some(*id),
                    _ => None,
                }));
            }
            _ => {}
        }
        for known in &mut self.differences {
            known.is_replaced |= replaced.iter().any(|id| known.new == *id || known.base == Some(*id));
        }
    }

    /// Compares what a step reports with the content of both objects now.
    pub(super) fn difference_took_effect(&mut self, id: OperationId, outcome: Option<&Output>) -> Result<(), String> {
        // None: it was given up.
        let Some(at) = self.differences.iter().position(|known| known.step == Some(id)) else { return Ok(()) };
        let InProgress { base, new, next, is_replaced, .. } = self.differences[at];
        let name = format!("difference from {base:?} to {new}, from block {next} on");
        let Some(Output::Difference(step)) = outcome else { return Err(format!("{name}: no result")) };
        if is_replaced {
            return Err(format!("{name}: goes on although an object that it compares is not what it was"));
        }
        self.check_difference(base, new, next, step).map_err(|error| format!("{name}: {error}"))?;
        match (step.next, self.differences.get_mut(at)) {
            (Some(block), Some(known)) => (known.next, known.step) = (block.get(), None),
            _ => {
                let done = self.differences.remove(at);
                self.core.end_difference(done.id);
            }
        }
        Ok(())
    }

    fn check_difference(&self, base: Option<u64>, new: u64, from: u64, step: &DifferenceStep) -> Result<(), String> {
        let end_of_new = self.model.objects.get(&new).map_or(0, |object| object.sectors.div_ceil(BLOCK_SECTORS));
        let end = step.next.map_or(end_of_new, BlockNumber::get);
        if end < from || end > end_of_new || (step.next.is_some() && end == from) {
            return Err(format!("ends at block {end} of {end_of_new}"));
        }
        // By block: whether it is zero.
        let mut reported = BTreeMap::new();
        let mut last = from;
        for run in &step.runs {
            let (first, count) = (run.first.get(), run.range().count);
            if first < last || count == 0 || first + count > end {
                return Err(format!("{} blocks at {first} are reported, after {last} and before {end}", count));
            }
            last = first + count;
            let is_zero = matches!(run.content, ChangedContent::Zero(_));
            reported.extend((first..last).map(|block| (block, is_zero)));
        }
        if self.damaged {
            return Ok(());
        }
        let empty = crate::model::Object::default();
        let before = base.and_then(|base| self.model.objects.get(&base)).unwrap_or(&empty);
        let Some(after) = self.model.objects.get(&new) else { return Err("the new object is gone".into()) };
        let differ = after.blocks_other_than(before, from..end);
        if let Some(block) = differ.into_iter().find(|block| !reported.contains_key(block)) {
            return Err(format!("block {block} differs, and is not reported"));
        }
        for (block, is_zero) in reported {
            let (was, is) = (before.is_mapped(block), after.is_mapped(block));
            // Where zeros may be stored, blocks of zeros may be mapped.
            let known = !self.model.stores_zeros;
            if (is_zero && is) || (known && (is == is_zero || (is_zero && !was))) {
                return Err(format!("block {block} is reported as zero: {is_zero}; mapped before: {was}, now: {is}"));
            }
            if known && after.shares_chunk(before, block) {
                return Err(format!("block {block} is reported, and shared"));
            }
        }
        Ok(())
    }

    /// Judges the end of a step. False: as for any other operation.
    pub(super) fn difference_finished(
        &mut self,
        id: OperationId,
        result: &Result<Output, Failure>,
    ) -> Result<bool, String> {
        let Err(failure) = result else { return Ok(true) };
        // None: it was given up, and its step in flight fails.
        let Some(at) = self.differences.iter().position(|known| known.step == Some(id)) else { return Ok(true) };
        let ended = self.differences.remove(at);
        self.core.end_difference(ended.id);
        match failure {
            Failure::Pool(PoolError::DifferenceEnded(_)) if ended.is_replaced => Ok(true),
            Failure::Pool(PoolError::DifferenceEnded(_)) => {
                Err(format!("the difference from {:?} to {} ended without a reason", ended.base, ended.new))
            }
            _ => Ok(false),
        }
    }
}
