//! EXTENDED COPY (LID1) and (LID4) (83h/00h and /01h), SPC-4 §6.4 and §6.5. VMware's XCOPY, the primitive behind clone and Storage vMotion.
//!
//! The whole parameter list is checked before the first segment starts; these faults are ILLEGAL
//! REQUEST. A fault of a segment is COPY ABORTED, and the blocks that earlier segments copied stay.
//! The copy manager looks for copy sources and destinations only among the logical units that the
//! sending nexus sees (CVE-2020-28374).

mod parameter_list;
pub(crate) mod segments;

pub(crate) use self::parameter_list::ParameterList;
use self::parameter_list::{Endpoint, HEADER_BYTES, HEADER_BYTES_LID4};
use self::segments::{CopySegment, Segment};
use crate::device::background::Work;
use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::commands::Operation;
use crate::copies::Running;
use crate::device::invocation::{BLOCK, Invocation, Reply};
use crate::limits::Limits;
use crate::logical_unit::LogicalUnit;
use crate::nexus::Nexus;
use crate::sense::{CopyCause, Fault};
use block::{BlockDevice, BlockError, CopyStep, Durability, Extent, Lba, RemainingCopy};
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::third_party_copy::{CSCD_RECEIVING_LOGICAL_UNIT, TransferCountUnits};
use scsi::{AdditionalSense, FieldPointer, FixedSense, SenseKey};
use std::rc::Rc;
use unit::{Access, AccessState};
use unit::{AccessClass, ExtentGuard};
use unit::{OffloadWork, Primitive, Reason};

pub(super) const LID1: Command = Command {
    name: "EXTENDED COPY (LID1)",
    operation: Operation::ExtendedCopy,
    opcode: scsi::opcode::THIRD_PARTY_COPY_OUT,
    service_action: Some(service_action::EXTENDED_COPY_LID1),
    cdb_usage: &hex!("83 00 0000000000000000 ffffffff 00 00"),
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
    access: Access::Write,
    harmless: None,
    awaited: false,
    medium: Medium::NotNeeded, // the receiving logical unit need not be the destination
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::ActiveNonOptimized,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: Some(Primitive::Xcopy),
};

pub(super) const LID4: Command = Command {
    name: "EXTENDED COPY (LID4)",
    service_action: Some(service_action::EXTENDED_COPY_LID4),
    cdb_usage: &hex!("83 01 0000000000000000 ffffffff 00 00"),
    ..LID1
};

/// What is to be copied.
pub(crate) struct Request<D> {
    list: ParameterList,
    /// What the CSCD descriptors named when the copy began, each with its content_generation.
    units: Vec<Option<(Rc<LogicalUnit<D>>, u64)>>,
}

impl<D: BlockDevice> Request<D> {
    fn new(call: &Invocation<'_, D>, list: ParameterList) -> Self {
        let find = |Endpoint { code_set, kind, .. }: &Endpoint, designator: &[u8]| {
            let path = call.nexus.find(|unit| unit.has_designator(*code_set, *kind, designator))?;
            Some((Rc::clone(&path.unit), path.unit.content_generation()))
        };
        let units = list.endpoints.iter().map(|endpoint| find(endpoint, endpoint.designator())).collect();
        Self { list, units }
    }

    pub fn keeps_results(&self) -> bool {
        self.list.keeps_results()
    }
}

/// The copy source or destination of a segment.
struct End<'a, D> {
    unit: &'a LogicalUnit<D>,
    content_generation: u64,
    index: u16,
    /// Where the index stands in the segment.
    at: FieldPointer,
}

impl<D: BlockDevice> End<'_, D> {
    /// The nexus still sees it.
    fn check_visible(&self, nexus: &Nexus<D>) -> Result<(), CopyCause> {
        if nexus.sees(self.unit) { Ok(()) } else { Err(CopyCause::NotVisible { index: self.index, at: self.at }) }
    }

    /// Its content is not another one since the copy began.
    fn check_content(&self) -> Result<(), Fault> {
        self.unit.check_content(self.content_generation)
    }
}

fn is_lid4(command: &Command) -> bool {
    command.service_action == Some(service_action::EXTENDED_COPY_LID4)
}

/// Bytes of the header and of the longest descriptor lists.
fn longest_parameter_list(command: &Command, limits: &Limits) -> u64 {
    let header = if is_lid4(command) { HEADER_BYTES_LID4 } else { HEADER_BYTES };
    header as u64 + u64::from(limits.copy.maximum_descriptor_list_length)
}

/// PARAMETER LIST LENGTH; 0 for a list that is too long.
fn data_out_bytes(query: &DataOutQuery<'_>) -> u64 {
    let length = u64::from(query.cdb.be32::<10>());
    if length <= longest_parameter_list(query.command, query.limits) { length } else { 0 }
}

/// Copies the segments in order. GOOD means that all of them are done and visible on all paths, or with IMMED that they will be tried.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let length = u64::from(call.cdb.be32::<10>());
    if length == 0 {
        return Ok(Reply::good());
    }
    let limits = &call.target.limits;
    let longest = longest_parameter_list(call.command, limits);
    if length > longest {
        return Err(Fault::ParameterListLength { given_bytes: length, needed_bytes: longest });
    }
    let bytes = call.parameter_list(length)?;
    let list = match is_lid4(call.command) {
        true => ParameterList::parse_lid4(&bytes, &limits.copy)?,
        false => ParameterList::parse_lid1(&bytes, &limits.copy)?,
    };
    let running = list.list_id.map(|list_id| call.start_copy(list_id, TransferCountUnits::Bytes)).transpose()?;
    let request = Request::new(call, list);
    if request.list.immediate
        && let Some(running) = running
    {
        call.target.leave_to_background(call, running, Work::ExtendedCopy(request))?;
        return Ok(Reply::took(length));
    }
    let result = copy(call, &request, running.as_ref()).await;
    if let Some(running) = running {
        running.finish(request.keeps_results(), result.as_ref().map(|_| ()));
    }
    let mut reply = Reply::took(length).offloaded(result?);
    if request.list.good_with_sense {
        reply.sense = Some(FixedSense::new(SenseKey::COMPLETED, AdditionalSense::EXTENDED_COPY_INFORMATION_AVAILABLE));
    }
    Ok(reply)
}

/// Carries out the segments of a list.
pub(crate) async fn copy<D: BlockDevice>(
    call: &Invocation<'_, D>,
    request: &Request<D>,
    running: Option<&Running>,
) -> Result<OffloadWork, Fault> {
    let mut work = OffloadWork::default();
    for (index, segment) in request.list.segments.iter().enumerate() {
        call.check_step()?;
        let index = u16::try_from(index).unwrap_or(u16::MAX);
        let bytes = match segment {
            Segment::Copy { copy, hold } => {
                let hold = running.filter(|_| *hold && request.keeps_results());
                copy_segment(call, request, (index, copy), hold, &mut work).await?;
                copy.block_count * BLOCK
            }
            Segment::Verify { source, ready } => {
                verify_segment(call, request, *source, *ready).map_err(|cause| copy_fault(index, cause))?;
                0
            }
        };
        if let Some(running) = running {
            running.transferred(bytes);
            running.segment_done();
        }
    }
    if work.copied_bytes > 0 && work.cloned_bytes == 0 {
        let detail =
            format!("{} bytes copied: source and destination differ in their place within 4 KiB", work.copied_bytes);
        work.not_offloaded = Some((Reason::Misaligned, detail));
    }
    Ok(work)
}

/// A full pool and a protected destination are reported as for a WRITE: the host's reaction to them (pausing the virtual machine)
/// depends on that. Everything else is COPY ABORTED.
fn copy_fault(segment: u16, cause: CopyCause) -> Fault {
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

async fn copy_segment<D: BlockDevice>(
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
    let at_source = |fault| stop(CopyCause::Source(Box::new(fault)));
    let at_destination = |fault| stop(CopyCause::Destination(Box::new(fault)));
    let source_end = resolve(call, request, segment.source, 4).map_err(stop)?;
    let destination_end = resolve(call, request, segment.destination, 6).map_err(stop)?;
    let (source, destination) = (source_end.unit, destination_end.unit);
    let check = || -> Result<Extent, Fault> {
        call.check_step()?;
        source_end.check_visible(call.nexus).and_then(|()| destination_end.check_visible(call.nexus)).map_err(stop)?;
        source.check_access(call.nexus, Access::Read).map_err(at_source)?;
        source.check_present().map_err(at_source)?;
        let extent = source.checked_range(segment.source_lba, segment.block_count).map_err(at_source)?;
        destination.check_access(call.nexus, Access::Write).map_err(at_destination)?;
        destination.check_writable().map_err(at_destination)?;
        destination.checked_range(segment.destination_lba, segment.block_count).map_err(at_destination)?;
        source_end.check_content().and_then(|()| destination_end.check_content())?;
        Ok(extent)
    };

    // A RESERVE on the destination waits for this segment, as for a write.
    let _in_flight = destination.writes.enter();
    let held_blocks = hold.map_or(0, |running| room_to_hold(call, running)).min(segment.block_count);
    let read = Extent::new(segment.source_lba, segment.block_count);
    let written = Extent::new(segment.destination_lba, segment.block_count);
    let limits = destination.device().limits();
    let shares = limits.shares(read.lba, written.lba);
    let step_blocks = limits.copy_step_blocks(read.lba, written.lba);
    let at_once = held_blocks == 0 && read.count <= step_blocks;
    let _blocks = lock_both(source, read, destination, written, at_once).await;
    let _room = if shares { None } else { Some(call.working_room(read.count.min(step_blocks)).await) };
    let extent = check()?;
    let from = source.device();
    let to = destination.device();
    let held = match held_blocks {
        0 => None,
        count => Some(from.read(Extent { count, ..extent }).await.map_err(|error| at_source(Fault::from(error)))?),
    };
    let rest = Extent::new(extent.lba.0 + held_blocks, extent.count - held_blocks);
    let rest_to = Lba(segment.destination_lba + held_blocks);
    let mut left = RemainingCopy::new(source.volume(), rest, destination.volume(), rest_to);
    let mut copied = CopyStep::default();
    while let Some((part, at)) = left.next() {
        check()?;
        let step = to.copy_from(&from, part, at).await.map_err(|error| match error {
            BlockError::ReadFailed { .. } | BlockError::ForeignSource => at_source(Fault::from(error)),
            error => at_destination(Fault::from(error)),
        })?;
        left.advance(step.done_blocks);
        copied += step;
    }
    let CopyStep { cloned_bytes, mut copied_bytes, .. } = copied;
    if let (Some(held), Some(running)) = (held, hold) {
        // What is held is what was written. The rest came first: where the ranges overlap, this could have changed its source.
        check()?;
        let head = Extent::new(segment.destination_lba, held_blocks);
        let written = to.write(head, held.clone(), Durability::AsConfigured).await;
        written.map_err(|error| at_destination(Fault::from(error)))?;
        copied_bytes += held_blocks * BLOCK;
        running.hold(&held);
    }
    let bytes = segment.block_count * BLOCK;
    work.volume = Some(destination.volume());
    work.bytes += bytes;
    work.host_bytes_avoided += 2 * bytes;
    work.cloned_bytes += cloned_bytes;
    work.copied_bytes += copied_bytes;
    Ok(())
}

/// The blocks of both ends, of the volume with the lower number first: two copies that go opposite ways do not wait for each other.
/// `at_once`: the copy is one step of the device.
async fn lock_both<'a, D: BlockDevice>(
    source: &'a LogicalUnit<D>,
    from: Extent,
    destination: &'a LogicalUnit<D>,
    to: Extent,
    at_once: bool,
) -> [Option<ExtentGuard<'a>>; 2] {
    let (reading, writing) =
        if at_once { (AccessClass::Read, AccessClass::Write) } else { (AccessClass::Scan, AccessClass::Update) };
    if source.volume() == destination.volume() {
        return [Some(source.extents.lock(writing, &[from, to]).await), None];
    }
    let read = || source.extents.lock(reading, std::slice::from_ref(&from));
    let write = || destination.extents.lock(writing, std::slice::from_ref(&to));
    if source.volume() < destination.volume() {
        let first = read().await;
        [Some(first), Some(write().await)]
    } else {
        let first = write().await;
        [Some(first), Some(read().await)]
    }
}

/// Blocks that still fit into what is held of an operation.
fn room_to_hold<D>(call: &Invocation<'_, D>, running: &Running) -> u64 {
    let limit = u64::from(call.target.limits.copy.held_data_limit);
    limit.saturating_sub(running.held_bytes() as u64) / BLOCK
}

/// Verify CSCD operation (SPC-4 §6.4.6.9): the logical unit has to be reachable, and with `ready` to have its medium and no reservation
/// of another nexus.
fn verify_segment<D: BlockDevice>(
    call: &Invocation<'_, D>,
    request: &Request<D>,
    source: u16,
    ready: bool,
) -> Result<(), CopyCause> {
    let end = resolve(call, request, source, 4)?;
    end.check_visible(call.nexus)?;
    if ready {
        let at_source = |fault| CopyCause::Source(Box::new(fault));
        end.unit.check_access(call.nexus, Access::Condition).map_err(at_source)?;
        end.unit.check_present().map_err(at_source)?;
    }
    Ok(())
}

/// The logical unit of a CSCD index. `at` is where the index stands in the segment.
fn resolve<'a, D: BlockDevice>(
    call: &'a Invocation<'_, D>,
    request: &'a Request<D>,
    index: u16,
    at: u16,
) -> Result<End<'a, D>, CopyCause> {
    let at = FieldPointer::segment(at);
    if index == CSCD_RECEIVING_LOGICAL_UNIT {
        return Ok(End { unit: call.unit, content_generation: call.content_generation, index, at });
    }
    let endpoint = request.list.endpoints.get(usize::from(index)).ok_or(CopyCause::NoSuchCscd { index, at })?;
    let found = request.units.get(usize::from(index)).and_then(Option::as_ref);
    let (unit, content_generation) = found.ok_or(CopyCause::NotVisible { index, at })?;
    if !endpoint.is_block_device {
        return Err(CopyCause::WrongDeviceType { index });
    }
    Ok(End { unit, content_generation: *content_generation, index, at })
}
