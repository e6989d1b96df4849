//! POPULATE TOKEN (83h/10h), SBC-4 §5.10: creates a ROD token for ranges of the logical unit, the
//! first half of an offloaded data transfer.

use super::block_ranges::{self, Place};
use crate::charges::Moved;
use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::copies::Running;
use crate::device::{Invocation, Work};
use crate::reply::Reply;
use crate::sense::Fault;
use crate::tokens::NewToken;
use block::{BlockDevice, BlockError, Extent};
use futures_util::future::LocalBoxFuture;
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::opcode::service_action;
use scsi::rod_token::{IMMED, PopulateTokenHeader, RTV, RodType};
use scsi::third_party_copy::TransferCountUnits;
use std::sync::Arc;
use unit::LockMode;
use unit::{AccessState, ReservationClass};
use unit::{OffloadWork, Primitive};
use zerocopy::FromBytes;

const HEADER_BYTES: usize = size_of::<PopulateTokenHeader>();
/// Minimum POPULATE TOKEN DATA LENGTH: one range.
const LEAST_DATA_LENGTH: u16 = 0x1e;
/// ROD type of the tokens that are created.
pub(crate) const ROD_TYPE: RodType = RodType::POINT_IN_TIME;

pub(super) const COMMAND: Command = Command {
    name: "POPULATE TOKEN",
    opcode: scsi::opcode::THIRD_PARTY_COPY_OUT,
    service_action: Some(service_action::POPULATE_TOKEN),
    cdb_usage: &hex!("83 10 00000000 ffffffff ffffffff 3f 00"),
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
    limit_blocks: None,
    reservation_class: ReservationClass::Read,
    harmless: None,
    awaited: false,
    medium: Medium::Present,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::ActiveNonOptimized,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: Some(Primitive::Xcopy),
};

/// A checked parameter list.
pub(super) struct Request {
    ranges: Vec<Extent>,
    timeout_s: u32,
}

/// PARAMETER LIST LENGTH; 0 for a list that is too long.
fn data_out_bytes(query: &DataOutQuery<'_>) -> u64 {
    block_ranges::data_out_bytes(query, HEADER_BYTES)
}

/// Captures the ranges at one instant. The token is fetched with RECEIVE ROD TOKEN INFORMATION.
///
/// * `NoResourcesForToken`: limit of tokens reached, for the initiator or for all together.
/// * `NoResourcesForRod`: the pool has no room for the blocks that the token may come to hold.
pub(super) async fn execute<D: BlockDevice + 'static>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let Some(list) = block_ranges::parameter_list(call, HEADER_BYTES)? else { return Ok(Reply::good()) };
    let length = list.len() as u64;
    let (immediate, request) = parse(call, &list)?;
    call.target.tokens().check_room(&call.nexus.initiator, &call.target.limits().tokens)?;
    let running = call.start_copy(call.cdb.be32::<6>(), TransferCountUnits::LogicalBlocks)?;
    if immediate {
        call.target.leave_to_background(call, running, Box::new(request))?;
        return Ok(Reply::took(length));
    }
    let result = populate(call, request, &running).await;
    running.finish(true, result.as_ref().map(|_| ()));
    Ok(Reply::took(length).offloaded(result?))
}

fn parse<D: BlockDevice>(call: &Invocation<'_, D>, list: &[u8]) -> Result<(bool, Request), Fault> {
    let invalid = |at: usize| Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at)));
    let limits = &call.target.limits().tokens;
    let too_short =
        |_| Fault::ParameterListLength { given_bytes: list.len() as u64, needed_bytes: HEADER_BYTES as u64 };
    let (header, _) = PopulateTokenHeader::read_from_prefix(list).map_err(too_short)?;
    if header.data_length.get() < LEAST_DATA_LENGTH {
        return invalid(0);
    }
    if header.flags & !(RTV | IMMED) != 0 {
        return invalid(2);
    }
    let timeout_s = match header.inactivity_timeout.get() {
        0 => limits.default_inactivity_s,
        given if given <= limits.maximum_inactivity_s => given,
        _ => return invalid(4),
    };
    let any_point_in_time = RodType(0x0080_ffff);
    if header.flags & RTV != 0 && ![ROD_TYPE, any_point_in_time].contains(&RodType(header.rod_type.get())) {
        return invalid(8);
    }
    let place = Place { length: header.range_length.get(), length_at: 14, at: HEADER_BYTES };
    let ranges = block_ranges::parse(call, list, &place)?;
    Ok((header.flags & IMMED != 0, Request { ranges, timeout_s }))
}

impl<D: BlockDevice> Work<D> for Request {
    fn execute<'a>(
        self: Box<Self>,
        call: &'a Invocation<'a, D>,
        running: &'a Running,
    ) -> LocalBoxFuture<'a, (bool, Result<OffloadWork, Fault>)>
    where
        D: 'a,
        Self: 'a,
    {
        Box::pin(async move { (true, populate(call, *self, running).await) })
    }
}

/// Creates the token.
async fn populate<D: BlockDevice>(
    call: &Invocation<'_, D>,
    request: Request,
    running: &Running,
) -> Result<OffloadWork, Fault> {
    let _blocks = call.unit().extents.lock(LockMode::Read, &request.ranges).await;
    call.check_step()?;
    call.nexus.check_reservation(call.logical_unit, ReservationClass::Read)?;
    call.logical_unit.check_present()?;
    let source = call.unit().device();
    let device = source.capture(&request.ranges).await.map_err(|error| match error {
        BlockError::PoolFull => Fault::NoResourcesForRod,
        error => Fault::from(error),
    })?;
    let segments = request.ranges.len();
    call.charge(call.volume(), segments as u64, Moved::NOTHING);
    let new = NewToken {
        initiator: Arc::clone(&call.nexus.initiator),
        source: call.unit().volume(),
        naa: call.logical_unit.naa,
        ranges: request.ranges,
        device,
        timeout_s: request.timeout_s,
    };
    let target = call.target;
    let token = target.tokens().make(new, &target.limits().tokens, target.now_ns())?;
    // The volume may have been deleted meanwhile, for example.
    if let Err(fault) = call.check_step() {
        target.tokens().cancel(&token);
        return Err(fault);
    }
    running.transferred(token.blocks);
    for _ in 0..segments {
        running.segment_done();
    }
    running.made(*token.bytes());
    Ok(OffloadWork::default())
}
