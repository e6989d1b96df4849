//! Block device range descriptors of POPULATE TOKEN and WRITE USING TOKEN (SBC-4 §5.10.3), a list
//! with its own length and limits.

use crate::command::DataOutQuery;
use crate::device::Invocation;
use crate::limits::TokenLimits;
use crate::sense::Fault;
use block::{BlockDevice, Extent};
use bytes::Bytes;
use scsi::FieldPointer;
use scsi::rod_token::BlockRange;
use zerocopy::FromBytes;

const RANGE_BYTES: usize = size_of::<BlockRange>();

/// Position of the list in a parameter list.
pub(super) struct Place {
    /// Value of BLOCK DEVICE RANGE DESCRIPTOR LENGTH.
    pub length: u16,
    /// Byte where that field begins.
    pub length_at: usize,
    /// Byte where the first descriptor begins.
    pub at: usize,
}

/// PARAMETER LIST LENGTH for a header of `header_bytes`; 0 for a list that is too long.
pub(super) fn data_out_bytes(query: &DataOutQuery<'_>, header_bytes: usize) -> u64 {
    let length = u64::from(query.cdb.be32::<10>());
    if length <= longest_parameter_list(header_bytes, &query.limits.tokens) { length } else { 0 }
}

/// Bytes of the longest parameter list with a header of `header_bytes`.
fn longest_parameter_list(header_bytes: usize, limits: &TokenLimits) -> u64 {
    header_bytes as u64 + u64::from(limits.ranges) * RANGE_BYTES as u64
}

/// Returns the parameter list, or `None` when PARAMETER LIST LENGTH is 0, which is not an error
/// (SBC-4 §5.10.3).
///
/// * `TooManySegments`: longer than a list of MAXIMUM RANGE DESCRIPTORS ranges.
/// * `ParameterListLength`: longer than the Data-Out that the initiator announced.
pub(super) fn parameter_list<D: BlockDevice>(
    call: &Invocation<'_, D>,
    header_bytes: usize,
) -> Result<Option<Bytes>, Fault> {
    let given_bytes = u64::from(call.cdb.be32::<10>());
    if given_bytes == 0 {
        return Ok(None);
    }
    let limits = &call.target.limits().tokens;
    if given_bytes > longest_parameter_list(header_bytes, limits) {
        let count = given_bytes.saturating_sub(header_bytes as u64).div_ceil(RANGE_BYTES as u64);
        return Err(Fault::TooManySegments { count, limit: limits.ranges.into() });
    }
    call.parameter_list(given_bytes).map(Some)
}

/// Returns the ranges of at least one block, in list order.
///
/// * `ParameterListLength`: the list is truncated.
/// * `TooManySegments`: more ranges than MAXIMUM RANGE DESCRIPTORS.
/// * `OutOfRange`: a range reaches outside the logical unit.
/// * `InvalidFieldInParameterList`: no range, a partial range, a block in two ranges, no block at
///   all, or more blocks than MAXIMUM TOKEN TRANSFER SIZE.
pub(super) fn parse<D: BlockDevice>(
    call: &Invocation<'_, D>,
    list: &[u8],
    place: &Place,
) -> Result<Vec<Extent>, Fault> {
    let limits = &call.target.limits().tokens;
    let invalid = |at: usize| Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at));
    let length = usize::from(place.length);
    if length == 0 || !length.is_multiple_of(RANGE_BYTES) {
        return Err(invalid(place.length_at));
    }
    let end = place.at + length;
    let (given_bytes, needed_bytes) = (list.len() as u64, end as u64);
    let bytes = list.get(place.at..end).ok_or(Fault::ParameterListLength { given_bytes, needed_bytes })?;
    let (count, limit) = ((length / RANGE_BYTES) as u64, u64::from(limits.ranges));
    if count > limit {
        return Err(Fault::TooManySegments { count, limit });
    }
    let mut ranges: Vec<Extent> = Vec::with_capacity(length / RANGE_BYTES);
    let mut blocks = 0;
    for (index, bytes) in bytes.chunks_exact(RANGE_BYTES).enumerate() {
        let at = place.at + index * RANGE_BYTES;
        let raw = BlockRange::read_from_bytes(bytes).map_err(|_| invalid(at))?;
        let range = call.logical_unit.checked_range(raw.lba.get(), u64::from(raw.block_count.get()))?;
        let overlaps =
            |other: &Extent| range.lba.0 < other.lba.0 + other.count && other.lba.0 < range.lba.0 + range.count;
        if ranges.iter().any(overlaps) {
            return Err(invalid(at));
        }
        blocks += range.count;
        if blocks > limits.blocks {
            let at = FieldPointer::parameter_list(at + 8);
            return Err(Fault::AboveLimit { requested: blocks, limit: limits.blocks, at });
        }
        if range.count > 0 {
            ranges.push(range);
        }
    }
    if ranges.is_empty() { Err(invalid(place.at)) } else { Ok(ranges) }
}
