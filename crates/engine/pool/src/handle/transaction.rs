//! Transactions and looks of the rest of the array.

use crate::handle::Pool;
use crate::interface::operation::block_error;
use crate::transaction::{Missing, Stability, Transaction, View};
use block::BlockError;
use media::Media;

impl<M: Media> Pool<M> {
    /// Runs a transaction to its end; with [`Stability::Durable`] its changes are durable then. If the
    /// future is dropped before, the transaction takes effect or fails all the same. With an error nothing
    /// was changed:
    ///
    /// * [`BlockError::PoolFull`]: there is no space for the sum of its changes.
    /// * [`BlockError::ReadFailed`]: a block that it looked at cannot be read.
    /// * [`BlockError::Gone`], [`BlockError::OutOfRange`], [`BlockError::ReadOnly`]: it named a place that
    ///   does not exist or cannot change.
    /// * [`BlockError::Internal`]: it exceeds a limit.
    pub async fn transact<T: Transaction + 'static>(
        &self,
        transaction: T,
        stability: Stability,
    ) -> Result<T::Output, BlockError> {
        self.transact_then(transaction, stability, |_, output| output).await
    }

    /// [`Self::transact`] that calls `after` in the same step, right after the decision of the last attempt
    /// was carried out, whichever it was: with a view of the state then, and the output of that attempt.
    /// Also if the future is dropped. It must not call the pool.
    ///
    /// `after` runs once. Its view takes no changes, and a look fails for what is not in memory. It finds the
    /// blocks that the attempt looked at or edited, and [`View::mapped`] of the ranges that the attempt asked
    /// for, unless an end of such a range lies inside of one that was shared. The content of blocks that the
    /// attempt shared, and a payload above 32 KiB, may be missing.
    pub async fn transact_then<T: Transaction + 'static, U: 'static>(
        &self,
        transaction: T,
        stability: Stability,
        after: impl FnOnce(&mut View<'_>, T::Output) -> U + 'static,
    ) -> Result<U, BlockError> {
        let (submitted, answer) = self.submit_by(|core| core.transact_then(transaction, stability, after));
        submitted.outcome().await.map_err(block_error)?;
        let lost = || BlockError::Internal { reason: "a transaction ended without its output".into() };
        answer.take().ok_or_else(lost)
    }

    /// Calls `look` with a view of the pool as it is now, at once. `None` if something that it needs is not
    /// in memory; a transaction with the same look reads it. The look must not call the pool.
    pub fn try_view<T>(&self, look: impl FnOnce(&mut View<'_>) -> Result<T, Missing>) -> Option<Result<T, BlockError>> {
        self.0.core.borrow_mut().try_view(look)
    }
}
