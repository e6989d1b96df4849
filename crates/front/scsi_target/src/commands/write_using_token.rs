//! WRITE USING TOKEN (83h/11h), SBC-4 §5.47: writes the data that a ROD token represents, the
//! second half of an offloaded data transfer.

use super::block_ranges::{self, Place};
use crate::blocks::BLOCK;
use crate::charges::Moved;
use crate::command::{Command, DataDirection, DataOut, DataOutQuery, Exists, Medium, UnitAttention, WithoutUnit};
use crate::copies::Running;
use crate::device::{Invocation, Work};
use crate::reply::Reply;
use crate::sense::{CopyCause, Fault, TokenFault};
use crate::tokens::{InUse, Token};
use block::{BlockDevice, BlockError, Durability, Extent, Lba};
use futures_util::future::LocalBoxFuture;
use hex_literal::hex;
use scsi::FieldPointer;
use scsi::opcode::service_action;
use scsi::rod_token::{DEL_TKN, IMMED, RodToken, RodType, TOKEN_LENGTH, WriteUsingTokenHeader};
use scsi::third_party_copy::TransferCountUnits;
use unit::LockMode;
use unit::{AccessState, ReservationClass};
use unit::{OffloadWork, Primitive, Reason};
use zerocopy::FromBytes;

const HEADER_BYTES: usize = size_of::<WriteUsingTokenHeader>();
/// Minimum WRITE USING TOKEN DATA LENGTH: one range.
const LEAST_DATA_LENGTH: u16 = 0x226;

pub(super) const COMMAND: Command = Command {
    name: "WRITE USING TOKEN",
    opcode: scsi::opcode::THIRD_PARTY_COPY_OUT,
    service_action: Some(service_action::WRITE_USING_TOKEN),
    cdb_usage: &hex!("83 11 00000000 ffffffff ffffffff 3f 00"),
    data: DataDirection::Out(DataOut::Of(data_out_bytes)),
    limit_blocks: None,
    reservation_class: ReservationClass::Write,
    harmless: None,
    awaited: false,
    medium: Medium::Writable,
    unit_attention: UnitAttention::Reported,
    works_down_to: AccessState::ActiveNonOptimized,
    while_sanitizing: false,
    without_unit: WithoutUnit::Refused,
    exists: Exists::Always,
    io: None,
    offload: Some(Primitive::Xcopy),
};

/// Source of the data.
enum Rod<D> {
    /// The well-known block device zero token.
    Zeros,
    /// A token of this copy manager.
    Token(InUse<D>),
}

/// A checked parameter list.
pub(super) struct Request<D> {
    rod: Rod<D>,
    offset: u64,
    ranges: Vec<Extent>,
    delete: bool,
}

/// PARAMETER LIST LENGTH; 0 for a list that is too long.
fn data_out_bytes(query: &DataOutQuery<'_>) -> u64 {
    block_ranges::data_out_bytes(query, HEADER_BYTES)
}

/// Writes the ROD, starting at the given offset, over the ranges in order. As for EXTENDED COPY,
/// blocks written before a failure stay.
///
/// * `Token`: this initiator cannot use the token; nothing is written.
/// * `InvalidFieldInParameterList`: the ranges reach beyond the end of the ROD.
pub(super) async fn execute<D: BlockDevice + 'static>(call: &Invocation<'_, D>) -> Result<Reply, Fault> {
    let Some(list) = block_ranges::parameter_list(call, HEADER_BYTES)? else { return Ok(Reply::good()) };
    let length = list.len() as u64;
    let (immediate, request) = parse(call, &list)?;
    let running = call.start_copy(call.cdb.be32::<6>(), TransferCountUnits::LogicalBlocks)?;
    if immediate {
        call.target.leave_to_background(call, running, Box::new(request))?;
        return Ok(Reply::took(length));
    }
    let result = write(call, &request, &running).await;
    running.finish(true, result.as_ref().map(|_| ()));
    Ok(Reply::took(length).offloaded(result?))
}

fn parse<D: BlockDevice>(call: &Invocation<'_, D>, list: &[u8]) -> Result<(bool, Request<D>), Fault> {
    let invalid = |at: usize| Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at));
    let too_short =
        |_| Fault::ParameterListLength { given_bytes: list.len() as u64, needed_bytes: HEADER_BYTES as u64 };
    let (header, _) = WriteUsingTokenHeader::read_from_prefix(list).map_err(too_short)?;
    if header.data_length.get() < LEAST_DATA_LENGTH {
        return Err(invalid(0));
    }
    if header.flags & !(DEL_TKN | IMMED) != 0 {
        return Err(invalid(2));
    }
    let place = Place { length: header.range_length.get(), length_at: 534, at: HEADER_BYTES };
    let ranges = block_ranges::parse(call, list, &place)?;
    let rod = find(call, &header)?;
    let offset = header.offset_into_rod.get();
    let blocks: u64 = ranges.iter().map(|range| range.count).sum();
    let blocks_of_rod = match &rod {
        Rod::Token(token) => token.blocks,
        Rod::Zeros => u64::MAX,
    };
    if offset.checked_add(blocks).is_none_or(|end| end > blocks_of_rod) {
        return Err(invalid(8));
    }
    let delete = header.flags & DEL_TKN != 0;
    Ok((header.flags & IMMED != 0, Request { rod, offset, ranges, delete }))
}

fn find<D: BlockDevice>(call: &Invocation<'_, D>, header: &WriteUsingTokenHeader) -> Result<Rod<D>, TokenFault> {
    let raw = RodToken::decode(&header.token);
    if raw.rod_type.get() == RodType::BLOCK_ZERO.0 {
        return if raw.length.get() == TOKEN_LENGTH { Ok(Rod::Zeros) } else { Err(TokenFault::InvalidLength) };
    }
    let target = call.target;
    let token = target.tokens().find(&header.token, &call.nexus.initiator, target.now_ns())?;
    check_source(call, &token)?;
    Ok(Rod::Token(token))
}

/// Checks that the initiator still sees the source: without access to it, its data is not readable
/// through a token either.
fn check_source<D: BlockDevice>(call: &Invocation<'_, D>, token: &Token<D>) -> Result<(), TokenFault> {
    let source = call.nexus.find(|unit| unit.volume() == token.source);
    source.map(drop).ok_or(TokenFault::Revoked)
}

/// Repeats the admission checks before each step: much time may have passed since.
fn check_step<D: BlockDevice>(call: &Invocation<'_, D>, rod: &Rod<D>) -> Result<(), Fault> {
    call.check_step()?;
    call.nexus.check_reservation(call.logical_unit, ReservationClass::Write)?;
    call.logical_unit.check_writable()?;
    if let Rod::Token(token) = rod {
        check_source(call, token)?;
    }
    Ok(())
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
        Box::pin(async move { (true, write(call, &self, running).await) })
    }
}

/// Writes the ranges.
async fn write<D: BlockDevice>(
    call: &Invocation<'_, D>,
    request: &Request<D>,
    running: &Running,
) -> Result<OffloadWork, Fault> {
    let mut work = OffloadWork::default();
    let mut offset = request.offset;
    for (index, range) in request.ranges.iter().enumerate() {
        let segment = u16::try_from(index).unwrap_or(u16::MAX);
        let mut lba = range.lba.0;
        let end = range.lba.0 + range.count;
        while lba < end {
            if offset > request.offset {
                call.wait_for_limits().await;
            }
            // A RESERVE waits for this step, as for a write.
            let _in_flight = call.unit().writes.enter();
            let limits = call.unit().device().limits();
            let source = source_of_step(&request.rod, offset, Extent::new(lba, end - lba), &limits)?;
            let count = source.map_or(end - lba, |source| source.count);
            let to = Extent::new(lba, count);
            let _blocks = call.unit().extents.lock(LockMode::Write, &[to]).await;
            let moves = source.is_some_and(|from| !limits.shares(from.lba, to.lba));
            let _room = if moves { Some(call.working_room(count).await) } else { None };
            check_step(call, &request.rod)?;
            let count = match (&request.rod, source) {
                (Rod::Token(token), Some(from)) => copy(call, token, from, to, segment, &mut work).await?,
                _ => {
                    call.unit().device().zero(to, Durability::AsConfigured).await?;
                    call.charge(call.volume(), 1, Moved::NOTHING);
                    count
                }
            };
            lba += count;
            offset += count;
            running.transferred(count);
            work.bytes += count * BLOCK;
            work.host_bytes_avoided += 2 * count * BLOCK;
        }
        running.segment_done();
    }
    if let Rod::Token(token) = &request.rod
        && request.delete
    {
        call.target.tokens().delete(token);
    }
    if work.copied_bytes > 0 && work.cloned_bytes == 0 {
        let detail =
            format!("{} bytes copied: source and destination have different offsets within 4 KiB", work.copied_bytes);
        work.not_offloaded = Some((Reason::Misaligned, detail));
    }
    Ok(work)
}

/// Source of one step that starts at `to`: blocks from `offset` of the ROD on. `None`: zeros over
/// all of `to`.
fn source_of_step<D>(rod: &Rod<D>, offset: u64, to: Extent, limits: &block::Limits) -> Result<Option<Extent>, Fault> {
    let Rod::Token(token) = rod else { return Ok(None) };
    let beyond = Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(8));
    let run = token.run(offset, to.count).ok_or(beyond)?;
    Ok(Some(Extent { count: run.count.min(limits.copy_step_blocks(run.lba, to.lba)), ..run }))
}

/// Copies one step; returns the number of blocks that it covered.
async fn copy<D: BlockDevice>(
    call: &Invocation<'_, D>,
    token: &Token<D>,
    from: Extent,
    to: Extent,
    segment: u16,
    work: &mut OffloadWork,
) -> Result<u64, Fault> {
    let copied = call.unit().device().copy_from(token.device(), from, Lba(to.lba.0)).await;
    let outcome = copied.map_err(|error| match error {
        BlockError::SourceReadFailed { lba } => {
            let fault = Fault::from(BlockError::ReadFailed { lba });
            Fault::CopyAborted { segment, cause: CopyCause::Source(Box::new(fault)) }
        }
        error => Fault::from(error),
    })?;
    work.cloned_bytes += outcome.cloned_bytes;
    work.copied_bytes += outcome.copied_bytes;
    call.charge(call.volume(), 1, Moved::copied(outcome.copied_bytes));
    call.target.tokens().touch(token, call.target.now_ns());
    Ok(outcome.done_blocks)
}
