//! EXTENDED COPY (LID1) (83h/00h), SPC-4 §6.4. VMware's XCOPY, the primitive behind clone and Storage vMotion.
//!
//! The parameter list is checked whole before the first segment starts; such faults are ILLEGAL REQUEST. What goes wrong with a
//! segment is COPY ABORTED, and what earlier segments copied stays. The copy manager resolves copy sources and destinations among the
//! logical units that the asking nexus sees, and nowhere else (CVE-2020-28374).

mod parameter_list;

use self::parameter_list::{Endpoint, ParameterList, Segment};
use crate::command::{Access, Command, DataDirection, Medium, Operation, UnitAttention};
use crate::invocation::{BLOCK, Invocation, Reply};
use crate::limits::Limits;
use crate::nexus::ItlNexus;
use crate::offload::{OffloadWork, Primitive, Reason};
use crate::sense::{self, CopyCause, Fault};
use block::{BlockDevice, BlockError, CopyOutcome, Lba};
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::opcode::service_action;
use scsi::third_party_copy::{CSCD_RECEIVING_LOGICAL_UNIT, LIST_ID_HELD, LIST_ID_NONE};
use std::rc::Rc;

pub(super) const COMMAND: Command = Command {
    name: "EXTENDED COPY (LID1)",
    operation: Operation::ExtendedCopy,
    opcode: scsi::opcode::THIRD_PARTY_COPY_OUT,
    service_action: Some(service_action::EXTENDED_COPY_LID1),
    cdb_usage: &hex!("83 00 0000000000000000 ffffffff 00 00"),
    data: DataDirection::Out,
    access: Access::Write,
    medium: Medium::NotNeeded, // the receiving logical unit need not be the destination
    unit_attention: UnitAttention::Reported,
    offload: Some(Primitive::Xcopy),
};

/// Header, and the longest descriptor lists.
pub(super) fn longest_parameter_list(limits: &Limits) -> u64 {
    16 + u64::from(limits.copy.maximum_descriptor_list_length)
}

/// Copies the segments in order. GOOD means that all of them are done and visible on all paths.
pub(super) async fn execute<D: BlockDevice>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let length = u64::from(call.cdb.be32::<10>());
    if length == 0 {
        return Ok(Reply::good());
    }
    let longest = longest_parameter_list(&call.target.limits);
    if length > longest {
        return Err(Fault::ParameterListLength { given_bytes: length, needed_bytes: longest });
    }
    let bytes = call.parameter_list(length)?;
    let list = ParameterList::parse(&bytes, &call.target.limits.copy)?;
    let running = match list.list_id_usage {
        LIST_ID_NONE => None,
        _ => Some(call.nexus.copies.start(list.list_id)?),
    };
    let mut work = OffloadWork::default();
    let mut result = Ok(());
    for (index, segment) in list.segments.iter().enumerate() {
        let copied = copy_segment(call, &list, segment, &mut work).await;
        if let Err(cause) = copied {
            let index = u16::try_from(index).unwrap_or(u16::MAX);
            result = Err(copy_fault(index, cause));
            break;
        }
        if let Some(running) = &running {
            running.advance(segment.block_count * BLOCK);
        }
    }
    if let Some(running) = running {
        let failure = result.as_ref().err().map(|fault| {
            let outcome = sense::outcome(fault);
            (outcome.status.0, outcome.sense_bytes())
        });
        running.finish(list.list_id_usage == LIST_ID_HELD, failure);
    }
    result?;
    if work.copied_bytes > 0 && work.cloned_bytes == 0 {
        let detail =
            format!("{} bytes copied: source and destination differ in their place within 4 KiB", work.copied_bytes);
        work.not_offloaded = Some((Reason::Misaligned, detail));
    }
    Ok(Reply::took(length).offloaded(work))
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
    list: &ParameterList,
    segment: &Segment,
    work: &mut OffloadWork,
) -> Result<(), CopyCause> {
    if segment.block_count == 0 {
        return Ok(());
    }
    let source_path = resolve(call, list, segment.source, 4)?;
    let destination_path = resolve(call, list, segment.destination, 6)?;
    let source = source_path.as_ref().map_or(call.unit, |path| &*path.unit);
    let destination = destination_path.as_ref().map_or(call.unit, |path| &*path.unit);
    let at_source = |fault| CopyCause::Source(Box::new(fault));
    let at_destination = |fault| CopyCause::Destination(Box::new(fault));

    source.check_access(call.nexus, Access::Read).map_err(at_source)?;
    source.check_present().map_err(at_source)?;
    let extent = source.checked_range(segment.source_lba, segment.block_count).map_err(at_source)?;
    destination.check_access(call.nexus, Access::Write).map_err(at_destination)?;
    destination.check_writable().map_err(at_destination)?;
    destination.checked_range(segment.destination_lba, segment.block_count).map_err(at_destination)?;

    // A RESERVE on the destination waits for this segment, as for a write.
    let _in_flight = destination.writes.enter();
    let from = source.device();
    let to = destination.device();
    let copied = to.copy_from(&from, extent, Lba(segment.destination_lba)).await;
    let CopyOutcome { cloned_bytes, copied_bytes } = copied.map_err(|error| match error {
        BlockError::ReadFailed { .. } => at_source(Fault::from(error)),
        error => at_destination(Fault::from(error)),
    })?;
    let bytes = segment.block_count * BLOCK;
    work.volume = Some(destination.volume);
    work.bytes += bytes;
    work.host_bytes_avoided += 2 * bytes;
    work.cloned_bytes += cloned_bytes;
    work.copied_bytes += copied_bytes;
    Ok(())
}

/// The logical unit of a CSCD index: `None` for the one that received the command. `at` is where the index stands in the segment.
fn resolve<D: BlockDevice>(
    call: &Invocation<'_, D>,
    list: &ParameterList,
    index: u16,
    at: u16,
) -> Result<Option<Rc<ItlNexus<D>>>, CopyCause> {
    if index == CSCD_RECEIVING_LOGICAL_UNIT {
        return Ok(None);
    }
    let at = FieldPointer::segment(at);
    let endpoint = list.endpoints.get(usize::from(index)).ok_or(CopyCause::NoSuchCscd { index, at })?;
    let Endpoint { code_set, kind, .. } = *endpoint;
    let found = call.nexus.find(|unit| unit.has_designator(code_set, kind, endpoint.designator()));
    let path = found.ok_or(CopyCause::NotVisible { index, at })?;
    if !endpoint.is_block_device {
        return Err(CopyCause::WrongDeviceType { index });
    }
    Ok(Some(path))
}
