//! EXTENDED COPY (LID1) and (LID4) (83h/00h and /01h), SPC-4 §6.4 and §6.5. VMware's XCOPY, the primitive behind
//! clone and Storage vMotion.
//!
//! The whole parameter list is checked before the first segment starts; these faults are ILLEGAL
//! REQUEST. A fault of a segment is COPY ABORTED, and the blocks that earlier segments copied stay.
//! The copy manager looks for copy sources and destinations only among the logical units that the
//! sending nexus sees (CVE-2020-28374).

mod copy_segment;
mod parameter_list;
mod request;

use self::copy_segment::{copy_fault, copy_segment, verify_segment};
use self::parameter_list::ParameterList;
use self::parameter_list::{HEADER_BYTES, HEADER_BYTES_LID4};
use self::request::Request;
use crate::blocks::BLOCK;
use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::copies::Running;
use crate::copy_segments::Segment;
use crate::device::{Invocation, Work};
use crate::limits::Limits;
use crate::reply::Reply;
use crate::sense::Fault;
use block::BlockDevice;
use futures_util::future::LocalBoxFuture;
use hex_literal::hex;
use scsi::opcode::service_action;
use scsi::third_party_copy::TransferCountUnits;
use scsi::{AdditionalSense, FixedSense, SenseKey};
use unit::{AccessState, OffloadWork, Primitive, Reason, ReservationClass};

pub(super) const LID1: Command = Command {
    name: "EXTENDED COPY (LID1)",
    opcode: scsi::opcode::THIRD_PARTY_COPY_OUT,
    service_action: Some(service_action::EXTENDED_COPY_LID1),
    cdb_usage: &hex!("83 00 0000000000000000 ffffffff 00 00"),
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
    limit_blocks: None,
    reservation_class: ReservationClass::Write,
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

/// Copies the segments in order. GOOD means that all are copied and visible on all paths, or with
/// IMMED that the operation has been queued.
pub(super) async fn execute<D: BlockDevice + 'static>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let length = u64::from(call.cdb.be32::<10>());
    if length == 0 {
        return Ok(Reply::good());
    }
    let limits = call.target.limits();
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
        call.target.leave_to_background(call, running, Box::new(request))?;
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

impl<D: BlockDevice> Work<D> for Request<D> {
    fn execute<'a>(
        self: Box<Self>,
        call: &'a Invocation<'a, D>,
        running: &'a Running,
    ) -> LocalBoxFuture<'a, (bool, Result<OffloadWork, Fault>)>
    where
        D: 'a,
        Self: 'a,
    {
        Box::pin(async move { (self.keeps_results(), copy(call, &self, Some(running)).await) })
    }
}

/// Executes the segments of a list.
async fn copy<D: BlockDevice>(
    call: &Invocation<'_, D>,
    request: &Request<D>,
    running: Option<&Running>,
) -> Result<OffloadWork, Fault> {
    let mut work = OffloadWork::default();
    for (index, segment) in request.list.segments.iter().enumerate() {
        if index > 0 {
            call.wait_for_limits().await;
        }
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
            format!("{} bytes copied: source and destination have different offsets within 4 KiB", work.copied_bytes);
        work.not_offloaded = Some((Reason::Misaligned, detail));
    }
    Ok(work)
}
