//! Segments of a third-party copy while they are executed.

use super::request::{End, Request, resolve};
use crate::blocks::BLOCK;
use crate::charges::Moved;
use crate::copies::Running;
use crate::copy_segments::CopySegment;
use crate::device::Invocation;
use crate::sense::{CopyCause, Fault};
use block::{BlockDevice, BlockError, CopyStep, Durability, Extent, Lba, RemainingCopy};
use unit::{OffloadWork, ReservationClass, lock_copy};

/// Segment that is being copied.
struct SegmentCopy<'a, D> {
    call: &'a Invocation<'a, D>,
    index: u16,
    segment: &'a CopySegment,
    source: End<'a, D>,
    destination: End<'a, D>,
}

impl<D: BlockDevice> SegmentCopy<'_, D> {
    fn stop(&self, cause: CopyCause) -> Fault {
        copy_fault(self.index, cause)
    }

    fn at_source(&self, fault: impl Into<Fault>) -> Fault {
        self.stop(CopyCause::Source(Box::new(fault.into())))
    }

    fn at_destination(&self, fault: impl Into<Fault>) -> Fault {
        self.stop(CopyCause::Destination(Box::new(fault.into())))
    }

    /// Checks that the segment may still be copied. To be called before every step.
    fn check(&self) -> Result<(), Fault> {
        let Self { call, segment, source, destination, .. } = self;
        call.check_step()?;
        source.check_visible(call.nexus).map_err(|cause| self.stop(cause))?;
        destination.check_visible(call.nexus).map_err(|cause| self.stop(cause))?;
        self.check_source().map_err(|fault| self.at_source(fault))?;
        call.nexus
            .check_reservation(destination.logical_unit, ReservationClass::Write)
            .map_err(|fault| self.at_destination(fault))?;
        destination.logical_unit.check_writable().map_err(|fault| self.at_destination(fault))?;
        let range = destination.logical_unit.checked_range(segment.destination_lba, segment.block_count);
        range.map_err(|fault| self.at_destination(fault))?;
        source.check_content()?;
        destination.check_content()
    }

    fn check_source(&self) -> Result<(), Fault> {
        let unit = self.source.logical_unit;
        self.call.nexus.check_reservation(unit, ReservationClass::Read)?;
        unit.check_present()?;
        unit.checked_range(self.segment.source_lba, self.segment.block_count).map(drop)
    }

    /// Copies the blocks after the first `held_blocks`.
    async fn copy_after(&self, held_blocks: u64) -> Result<CopyStep, Fault> {
        let (source, destination) = (self.source.unit(), self.destination.unit());
        let (from, to) = (source.device(), destination.device());
        let rest = Extent::new(self.segment.source_lba + held_blocks, self.segment.block_count - held_blocks);
        let rest_to = Lba(self.segment.destination_lba + held_blocks);
        let mut left = RemainingCopy::new(source.volume(), rest, destination.volume(), rest_to);
        let mut copied = CopyStep::default();
        while let Some((part, at)) = left.next() {
            self.check()?;
            let step = to.copy_from(&from, part, at).await.map_err(|error| match error {
                BlockError::SourceReadFailed { lba } => self.at_source(BlockError::ReadFailed { lba }),
                BlockError::ForeignSource => self.at_source(error),
                error => self.at_destination(error),
            })?;
            self.call.charge(self.call.volume(), 1, Moved::copied(step.copied_bytes));
            left.advance(step.done_blocks);
            copied += step;
        }
        Ok(copied)
    }

    /// Copies the segment. `running`: operation that holds the first blocks of each segment.
    async fn copy(&self, running: Option<&Running>) -> Result<CopyStep, Fault> {
        let (source, destination) = (self.source.unit(), self.destination.unit());
        let held_blocks = running.map_or(0, |running| room_to_hold(self.call, running)).min(self.segment.block_count);
        let read = Extent::new(self.segment.source_lba, self.segment.block_count);
        let written = Extent::new(self.segment.destination_lba, self.segment.block_count);
        let limits = destination.device().limits();
        let step_blocks = limits.copy_step_blocks(read.lba, written.lba);
        // A step that moves data reads at one instant and writes at a later one.
        let at_once = held_blocks == 0 && read.count <= step_blocks && limits.shares(read.lba, written.lba);
        let _blocks = lock_copy(source, read, destination, written, at_once).await;
        let _room = if limits.shares(read.lba, written.lba) {
            None
        } else {
            Some(self.call.working_room(read.count.min(step_blocks)).await)
        };
        self.check()?;
        let held = match held_blocks {
            0 => None,
            count => {
                let head = Extent { count, ..read };
                Some(source.device().read(head).await.map_err(|error| self.at_source(error))?)
            }
        };
        let mut copied = self.copy_after(held_blocks).await?;
        if let (Some(held), Some(running)) = (held, running) {
            // The held data is written itself. The rest was copied first: where the ranges overlap,
            // this write could have changed its source.
            self.check()?;
            let head = Extent::new(self.segment.destination_lba, held_blocks);
            let written = destination.device().write(head, held.clone(), Durability::AsConfigured).await;
            written.map_err(|error| self.at_destination(error))?;
            copied.copied_bytes += held_blocks * BLOCK;
            self.call.charge(self.call.volume(), 1, Moved::copied(held_blocks * BLOCK));
            running.hold(&held);
        }
        Ok(copied)
    }
}

/// Executes a copy segment. `hold`: operation that holds the first blocks of each segment.
pub(super) async fn copy_segment<D: BlockDevice>(
    call: &Invocation<'_, D>,
    request: &Request<D>,
    (index, segment): (u16, &CopySegment),
    hold: Option<&Running>,
    work: &mut OffloadWork,
) -> Result<(), Fault> {
    if segment.block_count == 0 {
        return Ok(());
    }
    let stop = |cause| copy_fault(index, cause);
    let source = resolve(call, request, segment.source, 4).map_err(stop)?;
    let destination = resolve(call, request, segment.destination, 6).map_err(stop)?;
    // A RESERVE on the destination waits for this segment, as for a write.
    let _in_flight = destination.unit().writes.enter();
    let volume = destination.unit().volume();
    let copied = SegmentCopy { call, index, segment, source, destination }.copy(hold).await?;
    let bytes = segment.block_count * BLOCK;
    work.volume = Some(volume);
    work.bytes += bytes;
    work.host_bytes_avoided += 2 * bytes;
    work.cloned_bytes += copied.cloned_bytes;
    work.copied_bytes += copied.copied_bytes;
    Ok(())
}

/// Reports a full pool and a protected destination as for a WRITE: the host's reaction (pausing the
/// virtual machine) depends on that. Every other fault is COPY ABORTED.
pub(super) fn copy_fault(segment: u16, cause: CopyCause) -> Fault {
    match cause {
        CopyCause::Destination(fault)
            if matches!(
                *fault,
                Fault::Block(BlockError::PoolFull | BlockError::ReadOnly) | Fault::SoftwareWriteProtected
            ) =>
        {
            *fault
        }
        cause => Fault::CopyAborted { segment, cause },
    }
}

/// Blocks that still fit into the held data of an operation.
fn room_to_hold<D>(call: &Invocation<'_, D>, running: &Running) -> u64 {
    let limit = u64::from(call.target.limits().copy.held_data_limit);
    limit.saturating_sub(running.held_bytes() as u64) / BLOCK
}

/// Executes a Verify CSCD operation (SPC-4 §6.4.6.9): the logical unit has to be reachable; with
/// `ready`, its medium has to be present and no other nexus may hold a reservation.
pub(super) fn verify_segment<D: BlockDevice>(
    call: &Invocation<'_, D>,
    request: &Request<D>,
    source: u16,
    ready: bool,
) -> Result<(), CopyCause> {
    let end = resolve(call, request, source, 4)?;
    end.check_visible(call.nexus)?;
    if ready {
        let at_source = |fault| CopyCause::Source(Box::new(fault));
        call.nexus.check_reservation(end.logical_unit, ReservationClass::Condition).map_err(at_source)?;
        end.logical_unit.check_present().map_err(at_source)?;
    }
    Ok(())
}
