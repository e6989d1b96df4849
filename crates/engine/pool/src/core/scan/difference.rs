//! Difference of two read-only objects, step by step, in the background.

use crate::core::Core;
use crate::core::progress::Progress;
use crate::core::scan::descent::{Advance, Descent};
use crate::core::scan::sessions::Pair;
use crate::geometry::blocks_for;
use crate::interface::difference::DifferenceId;
use crate::interface::operation::Output;
use crate::interface::range::BlockNumber;
use crate::interface::{ObjectId, ObjectKind, PoolError};
use crate::map::page::PAGE_BYTES;
use crate::schedule::step::Step;
use media::Media;

/// Leaves that are read with one that is missing, at most; fewer in a pool with little memory.
const MOST_AHEAD: usize = 32;
/// Part of the memory that these take, at most.
const AHEAD_MEMORY: usize = 32;

impl<M: Media> Core<M> {
    /// Begins the difference from `base` (`None`: an object without content) to `new`, for
    /// [`Operation::DifferenceStep`](crate::Operation::DifferenceStep). It must be ended by [`Self::end_difference`].
    ///
    /// * [`PoolError::NoSuchObject`]: one of the two does not exist.
    /// * [`PoolError::NoSnapshot`]: one of the two is a volume, which changes meanwhile.
    pub fn begin_difference(&mut self, base: Option<ObjectId>, new: ObjectId) -> Result<DifferenceId, PoolError> {
        for id in base.into_iter().chain([new]) {
            match self.map.objects().user(id).map(|object| object.kind) {
                None => return Err(PoolError::NoSuchObject(id)),
                Some(ObjectKind::Volume) => return Err(PoolError::NoSnapshot(id)),
                Some(ObjectKind::Snapshot | ObjectKind::Capture) => {}
            }
        }
        let id = DifferenceId(self.schedule.next_number());
        self.remembered.differences_mut().begin(id, Pair { base, new });
        Ok(id)
    }

    /// Ends a difference. A step in progress fails.
    pub fn end_difference(&mut self, id: DifferenceId) {
        self.remembered.differences_mut().end(id);
    }

    /// Compares from block `from` on: as many pages as a background turn allows.
    pub(crate) fn difference_step(&mut self, id: DifferenceId, from: BlockNumber, progress: &mut Progress) -> Step {
        // After each wait again: rule *pair*.
        let pair = match self.remembered.differences().pair(id) {
            Ok(pair) => pair,
            Err(error) => return Step::Fail(error.into()),
        };
        let Some(mut descent) = progress.difference.take() else {
            progress.difference = Some(Box::new(Descent::from(from)));
            return Step::Later;
        };
        let size_bytes = self.map.objects().length(pair.new);
        let end = BlockNumber::new(blocks_for(size_bytes));
        let ahead = MOST_AHEAD.min(self.options.memory_bytes / AHEAD_MEMORY / PAGE_BYTES);
        loop {
            match descent.advance(&mut self.map, pair, end, ahead) {
                Advance::End => return Step::Done(Output::Difference(Box::new(descent.into_step(true)))),
                Advance::Wait => {
                    progress.difference = Some(descent);
                    return Step::Wait;
                }
                // What was found before comes first; the next step meets the damage again.
                Advance::Damaged(_) if descent.advances() > 0 => {
                    return Step::Done(Output::Difference(Box::new(descent.into_step(false))));
                }
                Advance::Damaged(reason) => return Step::Fail(PoolError::Damaged(reason).into()),
                Advance::Moved => progress.waits = 0,
            }
            if descent.advances() >= self.scan_pages || descent.is_full() {
                return Step::Done(Output::Difference(Box::new(descent.into_step(false))));
            }
        }
    }
}
