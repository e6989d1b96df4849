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
        let (submitted, answer) = self.submit_by(|core| core.transact(transaction, stability));
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
