//! Requests that only read.

use crate::error::ControlError;
use crate::facts::Facts;
use pool::ObjectId;

/// Request that only reads. [`Mirror::read`](crate::Mirror::read) answers it without the thread
/// that owns the array.
pub trait Read: Send + 'static {
    /// Type of the reply.
    type Reply: Send + 'static;
    /// Noun and verb: `volume-list`.
    const NAME: &'static str;

    /// True if the counts of this reply ([`Read::counted`]) are made at once. Otherwise they are
    /// made with pauses, and if there are many, the reply uses earlier ones.
    const FRESH_COUNTS: bool = false;

    /// Sets of objects whose [`Facts::unique_bytes`] the reply needs. Counting traverses maps, so
    /// no request does it itself.
    fn counted(&self, _facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        Vec::new()
    }

    /// Builds the reply.
    fn answer(&self, facts: &dyn Facts) -> Result<Self::Reply, ControlError>;
}
