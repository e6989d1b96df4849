//! Growth of the pool while it is in use.
//!
//! The medium grows first, which has no visible effect. The root of the next checkpoint then has
//! the new end of the data area, and its flip updates superblock and root at one instant; new
//! blocks may be allocated only afterwards. A crash in between leaves the old pool or the new one.
//! The medium flushes a file that it lengthens. Data of large writes may then be completed and not yet
//! flushed: if that flush fails, the pool stops, as for any other.
//! Growth needs no new block, so a full pool can grow too: new segments count as never written, and
//! a short last segment is extended by the same rule that returns freed blocks.

#[cfg(test)]
mod tests;

use crate::core::Core;
use crate::core::growing::Growing;
use crate::core::growing::Stage;
use crate::core::io::Io;
use crate::interface::operation::{Operation, OperationId, Output};
use crate::interface::{Growth, PoolError};
use crate::schedule::step::Step;
use crate::space::layout::{GROUP_ZONES, ZONE_BLOCKS};
use media::{BlockAddress, GrowthError, Media};

/// Largest size that the medium accepts: the one that the root has room for.
const _: () =
    assert!(media::MAX_GROWN_BLOCKS == crate::core::checkpoint::root::MAX_GROUPS as u64 * GROUP_ZONES * ZONE_BLOCKS);
/// Largest number of reads of the last segment's counts before a growth is given up.
const TRIES: u8 = 3;

impl<M: Media> Core<M> {
    /// Grows the pool and waits for the result; other operations run meanwhile. For tools and
    /// tests: a reactor submits [`Operation::Grow`].
    pub fn grow(&mut self, growth: Growth) -> Result<(), PoolError> {
        let wanted = self.submit(Operation::Grow(growth));
        loop {
            self.pump(0);
            match self.schedule.take_finished(wanted) {
                Some(Ok(_)) => return Ok(()),
                Some(Err(failure)) => return Err(crate::interface::operation::pool_error(failure)),
                None => self.medium.wait(),
            }
        }
    }

    pub(crate) fn grow_step(&mut self, id: OperationId, growth: &Growth) -> Step {
        match &mut self.growing {
            None => {
                let (growth, stage) = (growth.clone(), Stage::Waiting);
                self.growing = Some(Growing { growth, operation: id, stage, answer: None, answered: false, tries: 0 });
                Step::Io
            }
            Some(growing) if growing.operation == id => match growing.answer.take() {
                Some(result) => {
                    if matches!(growing.stage, Stage::Finished) {
                        self.growing = None;
                    }
                    result.map_or_else(|error| Step::Fail(error.into()), |()| Step::Done(Output::Done))
                }
                None => Step::Io,
            },
            Some(_) => Step::Fail(PoolError::CannotGrow("it is growing already".into()).into()),
        }
    }

    /// Advances a growth; every pump calls it.
    pub(crate) fn step_growth(&mut self) {
        let stalled = self.has_parked_writes();
        let Some(growing) = &mut self.growing else { return };
        if stalled {
            match growing.stage {
                Stage::Waiting => {
                    let reason = "the file system under the pool is full, and has to take a checkpoint first".into();
                    return self.end_growth(Err(PoolError::CannotGrow(reason)));
                }
                // The growth can no longer be cancelled, but the operation is answered.
                Stage::Extended { .. } | Stage::Frozen if !growing.answered => {
                    let reason = "the file system under the pool is full: the pool is larger when it has room again";
                    return self.answer_growth(Err(PoolError::Busy(reason.into())));
                }
                Stage::Extended { .. } | Stage::Frozen | Stage::Finished => {}
            }
        }
        match &growing.stage {
            Stage::Waiting if !self.checkpoints.in_flight() => {}
            Stage::Extended { .. } => return self.request_checkpoint(),
            Stage::Waiting | Stage::Frozen | Stage::Finished => return,
        }
        if let Some(segment) = self.map.space().short_segment()
            && !self.map.hold_counts(segment)
        {
            if self.medium.purposes().any(|io| matches!(io, Io::Segment { segment: read, .. } if *read == segment)) {
                return;
            }
            growing.tries += 1;
            if growing.tries > TRIES {
                let reason = "the reference counts of its last segment cannot be read; check the pool".into();
                return self.end_growth(Err(PoolError::CannotGrow(reason)));
            }
            self.map.forget_need();
            self.map.need_segments([segment]);
            self.issue_need();
            return;
        }
        match self.medium.media_mut().extend(&growing.growth) {
            Ok(grown) => {
                growing.stage = Stage::Extended { data_end: BlockAddress::new(grown.data_end) };
                self.request_checkpoint();
            }
            Err(error @ GrowthError::FlushFailed { .. }) => self.stop(error.to_string()),
            Err(error) => self.end_growth(Err(PoolError::CannotGrow(error.to_string()))),
        }
    }

    /// Enters a growth into the freeze of a checkpoint: its space map is that of the larger pool.
    pub(crate) fn freeze_growth(&mut self) -> Option<()> {
        if let Some(growing) = &mut self.growing
            && let Stage::Extended { data_end } = growing.stage
        {
            self.map.begin_growth(data_end)?;
            growing.stage = Stage::Frozen;
        }
        Some(())
    }

    /// Completes a growth when its checkpoint is durable.
    pub(crate) fn growth_done(&mut self) {
        if self.growing.as_ref().is_some_and(|growing| matches!(growing.stage, Stage::Frozen)) {
            self.map.finish_growth();
            self.end_growth(Ok(()));
        }
    }

    fn end_growth(&mut self, result: Result<(), PoolError>) {
        let Some(growing) = &mut self.growing else { return };
        growing.stage = Stage::Finished;
        if growing.answered {
            self.growing = None;
        } else {
            self.answer_growth(result);
        }
    }

    fn answer_growth(&mut self, result: Result<(), PoolError>) {
        let Some(growing) = &mut self.growing else { return };
        (growing.answer, growing.answered) = (Some(result), true);
        let operation = growing.operation;
        self.schedule.make_ready(operation);
    }
}
