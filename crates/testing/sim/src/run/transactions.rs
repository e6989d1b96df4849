//! Transactions of a run: their submission, what they may pin and wait for, and what the model makes of one
//! that took effect.

use super::Run;
use crate::model::{BLOCK_SECTORS, Undo};
use crate::step::Request;
use crate::transaction::{self, Change, Seen};
use block::BlockError;
use pool::{Answer, BlockNumber, BlockRange, ObjectId, OperationId, Stability, View};

/// Pages and blocks that a transaction pins at most.
const MOST_PINS: usize = 96;
/// Reads, one after the other, for which a transaction waits at most: for each of six changes that look at a block, six
/// levels of the map and the block, then as many for the plan of content, and for that of allotments.
const MOST_WAITS: u16 = 56;

impl Run {
    /// Submits a transaction.
    pub(super) fn submit_transaction(
        &mut self,
        changes: &[Change],
        picky: bool,
        durable: bool,
    ) -> (OperationId, Answer<Seen>) {
        let changes = changes.to_vec();
        let stability = if durable { Stability::Durable } else { Stability::Unstable };
        self.core.transact(move |view: &mut View<'_>| transaction::attempt(&changes, picky, view), stability)
    }

    /// Whether space is promised for all blocks to which a request gives content.
    pub(super) fn is_promised(&self, request: &Request) -> bool {
        match request {
            Request::Write { object, start, length, .. } | Request::CompareAndWrite { object, start, length, .. } => {
                self.model.objects.get(object).is_some_and(|object| object.is_allotted(*start, *length))
            }
            Request::Transaction { changes, .. } => self.model.has_promised(changes),
            _ => false,
        }
    }

    /// Compares the allotments of an object with the model.
    pub(super) fn compare_allotments(&mut self, id: u64) -> Result<(), String> {
        let Some(object) = self.model.objects.get(&id) else { return Ok(()) };
        let expected = object.allotments();
        let unmapped = object.allotted.iter().filter(|block| !object.is_mapped(**block)).count() as u64;
        let all = BlockRange::new(BlockNumber::FIRST, object.sectors.div_ceil(BLOCK_SECTORS));
        let allotted = self.core.try_view(|view| view.allotted(ObjectId(id), all));
        let allotted = match allotted {
            Some(Ok(allotted)) => allotted,
            // Damage made the pool stop during the comparison.
            Some(Err(BlockError::PoolStopped { .. })) if self.damaged => return Ok(()),
            found => return Err(format!("the allotments of object {id} are not known: {found:?}")),
        };
        let found: Vec<_> = allotted.iter().map(|range| (range.first.get(), range.count)).collect();
        if found != expected {
            return Err(format!("object {id}: {found:?} are allotted, should be {expected:?}"));
        }
        let known = !self.model.stores_zeros && !self.damaged;
        let promised = self.core.object(ObjectId(id)).map_or(0, |object| object.promised_bytes / 4096);
        if known && object.reserved.is_none() && promised < unmapped {
            return Err(format!("object {id}: {promised} blocks are promised, {unmapped} are allotted and unmapped"));
        }
        Ok(())
    }

    /// Checks what transactions have pinned, and for how many reads one has waited.
    pub(super) fn check_transactions(&self) -> Result<(), String> {
        let counters = self.core.counters();
        if counters.most_pins > MOST_PINS || counters.all_pins > self.core.pin_limit() {
            let (one, all) = (counters.most_pins, counters.all_pins);
            return Err(format!("a transaction pins {one} pages and blocks, all of them {all}"));
        }
        if counters.most_waits > MOST_WAITS {
            return Err(format!("a transaction waited {} times for the medium", counters.most_waits));
        }
        Ok(())
    }

    /// Applies a transaction that took effect and has returned `seen` to the model; compares what it saw, and
    /// the space that it took.
    pub(super) fn took_effect_together(
        &mut self,
        request: &Request,
        (changes, picky): (&[Change], bool),
        seen: &Seen,
        undo: &mut Vec<Undo>,
    ) -> Result<(), String> {
        let applied = self.model.apply_transaction(changes, picky, seen, undo);
        applied.map_err(|error| format!("{request}: {error}"))?;
        // What was promised before need not be any more.
        let releases = changes.iter().any(|change| matches!(change, Change::Release { .. }));
        self.catalog_effects += u64::from(releases && seen.0);
        let above = self.core.counters().above_ceilings;
        if above > 0 {
            return Err(format!("{request}: takes {above} blocks above a ceiling"));
        }
        let (overdrawn, unplanned) = (self.core.overdrawn_blocks(), self.core.counters().unplanned);
        if unplanned > 0 || (overdrawn > 0 && !self.troubled) {
            return Err(format!(
                "{request}: takes {unplanned} blocks more than it asked for, {overdrawn} blocks overdrawn"
            ));
        }
        Ok(())
    }
}
