//! Transactions whose submitter keeps the body, so that it may borrow: the submitter makes each attempt, when the pool
//! has what the one before asked for.

use crate::core::Core;
use crate::core::progress::{InTransaction, Progress};
use crate::interface::operation::{Failure, Operation, OperationId, TransactionMark};
use crate::schedule::step::Step;
use crate::transaction::{Attempt, Outcome, Stability};
use block::BlockError;
use media::Media;

/// First attempt of a transaction.
pub(crate) enum Begun {
    /// It was the last one, and changed nothing.
    Ended(Result<(), Failure>),
    /// The transaction is an operation. [`Core::poll_finished`] returns its result, perhaps immediately, and
    /// [`Core::poll_due`] its number when the submitter has to make an attempt.
    InProgress(OperationId),
}

impl<M: Media> Core<M> {
    /// Begins a transaction, with its first attempt.
    pub(crate) fn begin_lent(&mut self, body: &mut dyn Attempt, stability: Stability) -> Begun {
        if let Some(reason) = &self.stopped {
            return Begun::Ended(Err(BlockError::PoolStopped { reason: reason.clone() }.into()));
        }
        self.map.forget_need();
        let mut running = InTransaction::new(None);
        let outcome = self.look(&mut running, body);
        if let Ok(Outcome::Nothing(())) = outcome {
            self.conclude(body);
            return Begun::Ended(Ok(()));
        }
        let mark = TransactionMark::new(stability == Stability::Durable);
        let (id, mut pending) = self.schedule.admit(Operation::Transaction(mark), Progress::default());
        pending.progress.is_behind = self.waits_behind(&pending);
        let step = match outcome {
            Ok(outcome) => self.decided(id, mark, outcome, (&mut running, body), &mut pending.progress),
            Err(step) => step,
        };
        if self.keeps_transaction(&step, &mut running) {
            pending.progress.transaction = Some(Box::new(running));
        }
        self.settle(id, pending, step);
        Begun::InProgress(id)
    }

    /// Makes the next attempt of a transaction, if it is due.
    pub(crate) fn continue_lent(&mut self, id: OperationId, body: &mut dyn Attempt) {
        let Some(mut pending) = self.schedule.take(id) else { return };
        let (Operation::Transaction(mark), Some(mut running)) =
            (&pending.operation, pending.progress.transaction.take())
        else {
            return self.schedule.keep(id, pending);
        };
        let mark = *mark;
        if let Some(failure) = pending.take_failure() {
            pending.progress.transaction = Some(running);
            return self.settle(id, pending, Step::Fail(failure));
        }
        self.map.forget_need();
        pending.progress.is_behind = self.waits_behind(&pending);
        let step = self.attempt_transaction(id, mark, (&mut running, body), &mut pending.progress);
        if self.keeps_transaction(&step, &mut running) {
            pending.progress.transaction = Some(running);
        }
        self.settle(id, pending, step);
    }

    /// Ends a transaction whose submitter makes no more attempts. Without effect if its changes were carried out.
    pub(crate) fn give_up_lent(&mut self, id: OperationId) {
        let reason = "the submitter of a transaction gave it up".into();
        self.schedule.give_up(id, BlockError::Internal { reason }.into());
    }

    /// Number of pages and blocks that transactions pin.
    #[cfg(test)]
    pub(crate) fn pinned(&self) -> usize {
        self.map.pins().len()
    }

    /// Takes the next transaction whose submitter has to make an attempt.
    #[inline]
    pub(crate) fn poll_due(&mut self) -> Option<OperationId> {
        self.schedule.next_due()
    }
}
