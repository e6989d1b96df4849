//! Segment descriptors of EXTENDED COPY that the copy manager executes: one row each. RECEIVE COPY
//! OPERATING PARAMETERS and the third-party copy VPD page list these rows as implemented.
//!
//! Segments of stream devices are left out, and with them all inline data, which can go to stream
//! devices only (SPC-4 §6.4.6.6).

use crate::blocks::BLOCK;
use crate::sense::Fault;
use block::LOGICAL_BLOCK_BYTES;
use scsi::FieldPointer;
use scsi::third_party_copy::{
    BlockToBlockOffsetSegment, BlockToBlockSegment, CSCD_IDENTIFICATION, OperatingParameters, SEGMENT_BLOCK_TO_BLOCK,
    SEGMENT_BLOCK_TO_BLOCK_HOLD, SEGMENT_BLOCK_TO_BLOCK_OFFSET, SEGMENT_VERIFY, SegmentHeader, VerifySegment,
};
use zerocopy::FromBytes;

/// Operation of one segment.
pub(crate) enum Segment {
    /// Copies blocks; `hold`: also holds the data for the application client.
    Copy { copy: CopySegment, hold: bool },
    /// Checks that the CSCD can be reached and, with `ready`, that it is ready.
    Verify { source: u16, ready: bool },
}

/// Blocks to copy.
pub(crate) struct CopySegment {
    pub source: u16,
    pub destination: u16,
    pub source_lba: u64,
    pub destination_lba: u64,
    pub block_count: u64,
}

/// Row: one type of descriptor.
struct SegmentType {
    descriptor_type: u8,
    /// Bytes of the descriptor.
    bytes: usize,
    /// Byte of the field with the length of the copied data, for the fault of a segment above the
    /// limit.
    length_at: usize,
    /// Decoder; takes the descriptor and its position in the parameter list.
    decode: fn(&[u8], usize) -> Result<Segment, Fault>,
}

/// Rows, ascending by descriptor type.
const SEGMENT_TYPES: [SegmentType; 4] = [
    SegmentType {
        descriptor_type: SEGMENT_BLOCK_TO_BLOCK,
        bytes: size_of::<BlockToBlockSegment>(),
        length_at: 10,
        decode: block_to_block,
    },
    SegmentType { descriptor_type: SEGMENT_VERIFY, bytes: size_of::<VerifySegment>(), length_at: 2, decode: verify },
    SegmentType {
        descriptor_type: SEGMENT_BLOCK_TO_BLOCK_OFFSET,
        bytes: size_of::<BlockToBlockOffsetSegment>(),
        length_at: 8,
        decode: block_to_block_offset,
    },
    SegmentType {
        descriptor_type: SEGMENT_BLOCK_TO_BLOCK_HOLD,
        bytes: size_of::<BlockToBlockSegment>(),
        length_at: 10,
        decode: block_to_block,
    },
];

/// Types of all implemented descriptors, ascending: the segments, then the CSCD descriptor.
pub(crate) const IMPLEMENTED_DESCRIPTORS: &[u8] = &{
    let mut types = [CSCD_IDENTIFICATION; SEGMENT_TYPES.len() + 1];
    let mut at = 0;
    while at < SEGMENT_TYPES.len() {
        types[at] = SEGMENT_TYPES[at].descriptor_type;
        assert!(at == 0 || types[at - 1] < types[at]);
        at += 1;
    }
    types
};

/// Decodes a list of segment descriptors that begins at `at` in the parameter list.
pub(super) fn parse(
    mut rest: &[u8],
    mut at: usize,
    limits: &OperatingParameters,
    too_short: impl Fn(u64) -> Fault,
) -> Result<Vec<Segment>, Fault> {
    let mut segments = Vec::new();
    let limit = u64::from(limits.maximum_segment_count);
    let longest = u64::from(limits.maximum_segment_length);
    while let Some(&descriptor_type) = rest.first() {
        let row = SEGMENT_TYPES.iter().find(|row| row.descriptor_type == descriptor_type);
        let row = row.ok_or(Fault::UnsupportedSegment { descriptor_type, at: FieldPointer::parameter_list(at) })?;
        let descriptor = rest.get(..row.bytes).ok_or(too_short((at + row.bytes) as u64))?;
        let (header, _) = SegmentHeader::read_from_prefix(descriptor).map_err(|_| too_short((at + 4) as u64))?;
        if usize::from(header.descriptor_length.get()) != row.bytes - size_of::<SegmentHeader>() {
            return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at + 2)));
        }
        let segment = (row.decode)(descriptor, at)?;
        if let Segment::Copy { copy, .. } = &segment
            && copy.block_count * BLOCK > longest
        {
            let at = FieldPointer::parameter_list(at + row.length_at);
            return Err(Fault::AboveLimit { requested: copy.block_count * BLOCK, limit: longest, at });
        }
        segments.push(segment);
        rest = rest.get(row.bytes..).unwrap_or_default();
        at += row.bytes;
    }
    let count = segments.len() as u64;
    if count > limit {
        return Err(Fault::TooManySegments { count, limit });
    }
    Ok(segments)
}

fn read<T: FromBytes>(descriptor: &[u8]) -> Result<T, Fault> {
    let needed_bytes = size_of::<T>() as u64;
    T::read_from_bytes(descriptor)
        .map_err(|_| Fault::ParameterListLength { given_bytes: descriptor.len() as u64, needed_bytes })
}

/// Decodes a block to block segment. DC only selects whether the count is in source or in
/// destination blocks, which have the same length here. CAT applies to partial blocks, which cannot
/// occur.
fn block_to_block(descriptor: &[u8], _at: usize) -> Result<Segment, Fault> {
    let raw: BlockToBlockSegment = read(descriptor)?;
    let copy = CopySegment {
        source: raw.source.get(),
        destination: raw.destination.get(),
        source_lba: raw.source_lba.get(),
        destination_lba: raw.destination_lba.get(),
        block_count: u64::from(raw.block_count.get()),
    };
    Ok(Segment::Copy { copy, hold: raw.header.descriptor_type == SEGMENT_BLOCK_TO_BLOCK_HOLD })
}

/// Decodes a segment with byte offsets. Offsets and count have to be whole blocks: the data segment
/// granularity is 512 bytes.
fn block_to_block_offset(descriptor: &[u8], at: usize) -> Result<Segment, Fault> {
    let raw: BlockToBlockOffsetSegment = read(descriptor)?;
    let whole_blocks = |bytes: u32, offset: usize| {
        if bytes.is_multiple_of(LOGICAL_BLOCK_BYTES) {
            Ok(u64::from(bytes / LOGICAL_BLOCK_BYTES))
        } else {
            Err(Fault::SegmentGranularity { at: FieldPointer::parameter_list(at + offset) })
        }
    };
    let block_count = whole_blocks(raw.byte_count.get(), 8)?;
    let source_skip = whole_blocks(u32::from(raw.source_offset.get()), 28)?;
    let destination_skip = whole_blocks(u32::from(raw.destination_offset.get()), 30)?;
    let copy = CopySegment {
        source: raw.source.get(),
        destination: raw.destination.get(),
        // An LBA that saturates is beyond every logical unit and is refused as such.
        source_lba: raw.source_lba.get().saturating_add(source_skip),
        destination_lba: raw.destination_lba.get().saturating_add(destination_skip),
        block_count,
    };
    Ok(Segment::Copy { copy, hold: false })
}

fn verify(descriptor: &[u8], _at: usize) -> Result<Segment, Fault> {
    let raw: VerifySegment = read(descriptor)?;
    Ok(Segment::Verify { source: raw.source.get(), ready: raw.flags & VerifySegment::TUR != 0 })
}
