//! Looks of the rest of the array.

use crate::handle::Pool;
use crate::transaction::{Missing, View};
use block::BlockError;
use media::Media;

impl<M: Media> Pool<M> {
    /// Calls `look` with a view of the pool as it is now, at once. `None` if something that it needs is not
    /// in memory; a transaction with the same look reads it. The look must not call the pool.
    pub fn try_view<T>(&self, look: impl FnOnce(&mut View<'_>) -> Result<T, Missing>) -> Option<Result<T, BlockError>> {
        self.0.core.borrow_mut().try_view(look)
    }
}
