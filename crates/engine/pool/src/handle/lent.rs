//! Transactions that borrow: the future of the submitter makes the attempts.

use super::{Outcome as Finished, Pool, closed};
use crate::core::Begun;
use crate::interface::operation::{Failure, OperationId};
use crate::transaction::{Attempt, Lent, Missing, Outcome, Stability, View};
use block::BlockError;
use futures_channel::oneshot;
use media::Media;

/// What the future of a transaction does next.
enum Next {
    /// Returns.
    End(Finished),
    /// Waits for a result, or until an attempt is due.
    Wait(oneshot::Receiver<Option<Finished>>),
}

/// Transaction in progress. It is given up with the future that makes its attempts.
struct Lease<'a, M: Media> {
    pool: &'a Pool<M>,
    id: OperationId,
    ended: bool,
}

impl<M: Media> Drop for Lease<'_, M> {
    fn drop(&mut self) {
        if !self.ended {
            self.pool.0.lent.borrow_mut().remove(&self.id);
            self.pool.0.core.borrow_mut().give_up_lent(self.id);
            self.pool.ask_for_pump();
        }
    }
}

impl<M: Media> Pool<M> {
    /// Runs a transaction that may borrow to its end; with [`Stability::Durable`] its changes are durable then. Its
    /// future makes the attempts when it is polled. If everything is in memory, and nothing has to become durable, it
    /// is ready at once.
    ///
    /// `after` runs once, in the same step, right after the decision of the last attempt was carried out, whichever it
    /// was: with a view of the state then, and the output of that attempt. It must not call the pool. Its view takes no
    /// changes, and a look fails for what is not in memory. It finds the blocks that the attempt looked at or edited,
    /// and [`View::mapped`] of the ranges that the attempt asked for, unless an end of such a range lies inside of one
    /// that was shared. The content of blocks that the attempt shared, and a payload above 32 KiB, may be missing.
    ///
    /// If the future is dropped before the changes are carried out, nothing happens. Until then it has to be
    /// polled when it is woken: a waiting transaction holds memory, and space for its payload.
    ///
    /// After a failure nothing was changed. [`Failure::Unreadable`]: a block that an attempt looked at, or that its
    /// changes need, cannot be read. Others are a [`Failure::Block`]:
    ///
    /// * [`BlockError::PoolFull`]: there is no space for the sum of its changes.
    /// * [`BlockError::Gone`], [`BlockError::OutOfRange`], [`BlockError::ReadOnly`]: it named a place that
    ///   does not exist or cannot change.
    /// * [`BlockError::Internal`]: it exceeds a limit.
    pub async fn transact_lent<T, U>(
        &self,
        attempt: impl FnMut(&mut View<'_>) -> Result<Outcome<T>, Missing>,
        stability: Stability,
        after: impl FnOnce(&mut View<'_>, T) -> U,
    ) -> Result<U, Failure> {
        let mut body = Lent::new(attempt, after);
        let begun = self.0.core.borrow_mut().begin_lent(&mut body, stability);
        if let Begun::InProgress(id) = begun {
            let mut next = self.follow(id);
            let mut lease = Lease { pool: self, id, ended: false };
            loop {
                next = match next {
                    Next::End(result) => {
                        lease.ended = true;
                        result?;
                        break;
                    }
                    Next::Wait(receiver) => match receiver.await {
                        Ok(Some(result)) => Next::End(result),
                        Ok(None) => self.make_attempt(id, &mut body),
                        Err(_) => Next::End(Err(closed())),
                    },
                };
            }
        } else if let Begun::Ended(result) = begun {
            result?;
        }
        let lost = || BlockError::Internal { reason: "a transaction ended without its output".into() };
        body.into_answer().ok_or_else(|| lost().into())
    }

    fn make_attempt(&self, id: OperationId, body: &mut dyn Attempt) -> Next {
        self.0.core.borrow_mut().continue_lent(id, body);
        self.follow(id)
    }

    /// Takes the result of a transaction, or prepares to wait for it. Delivers the results of other operations.
    fn follow(&self, id: OperationId) -> Next {
        let mut core = self.0.core.borrow_mut();
        let mut own = None;
        while let Some((found, result)) = core.poll_finished() {
            if found == id {
                own = Some(result);
            } else {
                self.deliver(found, result);
            }
        }
        // Those behind a transaction that has left the queue for the log go on.
        let owes_pump = core.owes_eviction() || core.waits_for_log();
        drop(core);
        if let Some(result) = own {
            if owes_pump {
                self.ask_for_pump();
            }
            return Next::End(result);
        }
        let (sender, receiver) = oneshot::channel();
        self.0.lent.borrow_mut().insert(id, sender);
        self.ask_for_pump();
        Next::Wait(receiver)
    }
}
