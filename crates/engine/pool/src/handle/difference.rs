//! Differences of snapshots, for replication and backup.

use super::Pool;
use crate::interface::difference::{DifferenceId, DifferenceStep};
use crate::interface::operation::pool_error;
use crate::interface::range::BlockNumber;
use crate::interface::{ObjectId, PoolError};
use crate::request::Request;
use media::Media;

/// Difference between two read-only objects of a pool, in steps. It ends when it is dropped.
#[derive(Debug)]
pub struct Difference<M: Media> {
    pool: Pool<M>,
    id: DifferenceId,
    next: Option<BlockNumber>,
}

impl<M: Media> Pool<M> {
    /// Begins to compare `new` with `base`, from block `from` of 4 KiB on. `base` is `None` for an object without
    /// content: every mapped block is then reported. Both are snapshots or captures.
    ///
    /// It finds every block of `new` that may differ from that of `base`: those that the two objects store in
    /// different blocks of the pool, or only one of them stores. Blocks of `base` behind the end of `new` are not
    /// reported. Time, and pages read, are proportional to what differs.
    ///
    /// * [`PoolError::NoSuchObject`]: one of the two does not exist.
    /// * [`PoolError::NoSnapshot`]: one of the two is a volume, which changes meanwhile.
    pub fn difference(
        &self,
        base: Option<ObjectId>,
        new: ObjectId,
        from: BlockNumber,
    ) -> Result<Difference<M>, PoolError> {
        let id = self.0.core.borrow_mut().begin_difference(base, new)?;
        Ok(Difference { pool: self.clone(), id, next: Some(from) })
    }
}

impl<M: Media> Difference<M> {
    /// Compares the next part, in the background, and returns what differs there: a bounded number of map pages, runs
    /// and blocks, perhaps none. `None`: the end was reached before. After an error, and after the future was dropped,
    /// the next call repeats the step.
    ///
    /// * [`PoolError::DifferenceEnded`]: one of the two objects was deleted, or got other content or another size.
    /// * [`PoolError::Damaged`]: a map page, which it names, or counts of references, cannot be read. [`Self::skip_to`]
    ///   passes over it.
    /// * [`PoolError::Stopped`]: the pool stopped.
    pub async fn step(&mut self) -> Result<Option<DifferenceStep>, PoolError> {
        let Some(from) = self.next else { return Ok(None) };
        let step = self.pool.run(Request::difference_step(self.id, from)).await.map_err(pool_error)?;
        self.next = step.next;
        Ok(Some(step))
    }

    /// Block from which the next step compares; `None` at the end.
    pub const fn next(&self) -> Option<BlockNumber> {
        self.next
    }

    /// Continues from another block: behind a shared sub-tree that is known, behind damage, or before what has to be
    /// repeated.
    pub const fn skip_to(&mut self, block: BlockNumber) {
        self.next = Some(block);
    }
}

impl<M: Media> Drop for Difference<M> {
    fn drop(&mut self) {
        self.pool.0.core.borrow_mut().end_difference(self.id);
    }
}
