//! Transactions of a run: their submission, what they may pin and wait for, and what the model makes of one
//! that took effect.

use super::Run;
use crate::model::Undo;
use crate::step::Request;
use crate::transaction::{self, Change, Seen};
use pool::{Answer, OperationId, Stability, View};

/// Pages and blocks that a transaction pins at most.
const MOST_PINS: usize = 96;
/// Reads, one after the other, for which a transaction waits at most.
const MOST_WAITS: u16 = 24;

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
        let (overdrawn, unplanned) = (self.core.overdrawn_blocks(), self.core.counters().unplanned);
        if unplanned > 0 || (overdrawn > 0 && !self.troubled) {
            return Err(format!(
                "{request}: takes {unplanned} blocks more than it asked for, {overdrawn} blocks overdrawn"
            ));
        }
        Ok(())
    }
}
