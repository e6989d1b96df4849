//! The parameter list of EXTENDED COPY (LID1), from bytes to checked values. Everything that SPC-4 §6.4.3 lets a copy manager refuse
//! before it starts is refused here.

use crate::invocation::BLOCK;
use crate::sense::Fault;
use block::LOGICAL_BLOCK_BYTES;
use scsi::FieldPointer;
use scsi::inquiry::{Association, CodeSet, DesignatorType};
use scsi::third_party_copy::{
    BlockToBlockOffsetSegment, BlockToBlockSegment, CSCD_IDENTIFICATION, IdentificationCscd, LIST_ID_DISCARDED,
    LIST_ID_HELD, LIST_ID_NONE, OperatingParameters, ParameterListHeader, SEGMENT_BLOCK_TO_BLOCK,
    SEGMENT_BLOCK_TO_BLOCK_OFFSET, SegmentHeader,
};
use zerocopy::FromBytes;

const HEADER_BYTES: usize = size_of::<ParameterListHeader>();
const CSCD_BYTES: usize = size_of::<IdentificationCscd>();

/// A checked parameter list.
pub(super) struct ParameterList {
    pub list_id: u8,
    pub list_id_usage: u8,
    pub endpoints: Vec<Endpoint>,
    pub segments: Vec<Segment>,
}

/// A copy source or destination, by its logical-unit designator.
pub(super) struct Endpoint {
    pub code_set: CodeSet,
    pub kind: DesignatorType,
    /// Device type and block length are those of every logical unit here.
    pub is_block_device: bool,
    designator: [u8; 20],
    designator_length: usize,
}

impl Endpoint {
    pub fn designator(&self) -> &[u8] {
        self.designator.get(..self.designator_length).unwrap_or_default()
    }
}

/// Blocks to copy.
pub(super) struct Segment {
    pub source: u16,
    pub destination: u16,
    pub source_lba: u64,
    pub destination_lba: u64,
    pub block_count: u64,
}

impl ParameterList {
    pub fn parse(list: &[u8], limits: &OperatingParameters) -> Result<Self, Fault> {
        let given_bytes = list.len() as u64;
        let too_short = |needed_bytes: u64| Fault::ParameterListLength { given_bytes, needed_bytes };
        let (header, _) = ParameterListHeader::read_from_prefix(list).map_err(|_| too_short(HEADER_BYTES as u64))?;
        let list_id_usage = header.list_id_usage();
        match list_id_usage {
            LIST_ID_HELD | LIST_ID_DISCARDED => {}
            LIST_ID_NONE if header.list_identifier == 0 => {}
            LIST_ID_NONE => return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(0))),
            _ => return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(1))),
        }
        let cscd_bytes = u64::from(header.cscd_descriptor_list_length.get());
        let segment_bytes = u64::from(header.segment_descriptor_list_length.get());
        let inline_bytes = header.inline_data_length.get();
        let descriptor_bytes = cscd_bytes + segment_bytes;
        if descriptor_bytes > u64::from(limits.maximum_descriptor_list_length) {
            return Err(too_short(HEADER_BYTES as u64 + descriptor_bytes));
        }
        if inline_bytes > 0 {
            return Err(Fault::InlineData { bytes: inline_bytes });
        }
        let segments_at = HEADER_BYTES + usize::try_from(cscd_bytes).unwrap_or(usize::MAX);
        let end = segments_at + usize::try_from(segment_bytes).unwrap_or(usize::MAX);
        let cscds = list.get(HEADER_BYTES..segments_at).ok_or(too_short(end as u64))?;
        let segments = list.get(segments_at..end).ok_or(too_short(end as u64))?;

        let count = (cscds.len() / CSCD_BYTES) as u64;
        let limit = u64::from(limits.maximum_cscd_count);
        if count > limit {
            return Err(Fault::TooManyCscds { count, limit });
        }
        let mut endpoints = Vec::with_capacity(cscds.len() / CSCD_BYTES);
        for (index, bytes) in cscds.chunks(CSCD_BYTES).enumerate() {
            endpoints.push(parse_cscd(bytes, HEADER_BYTES + index * CSCD_BYTES, too_short)?);
        }
        let segments = parse_segments(segments, segments_at, limits, too_short)?;
        Ok(Self { list_id: header.list_identifier, list_id_usage, endpoints, segments })
    }
}

fn parse_cscd(bytes: &[u8], at: usize, too_short: impl Fn(u64) -> Fault) -> Result<Endpoint, Fault> {
    let invalid = |offset: usize| Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at + offset));
    match bytes.first() {
        Some(&CSCD_IDENTIFICATION) => {}
        Some(&descriptor_type) => {
            return Err(Fault::UnsupportedCscd { descriptor_type, at: FieldPointer::parameter_list(at) });
        }
        None => return Err(too_short((at + CSCD_BYTES) as u64)),
    }
    let cscd = IdentificationCscd::read_from_bytes(bytes).map_err(|_| too_short((at + CSCD_BYTES) as u64))?;
    let code_set = CodeSet(cscd.code_set & 0x0f);
    let association = Association(cscd.designator_kind >> 4 & 0b11);
    let kind = DesignatorType(cscd.designator_kind & 0x0f);
    if association != Association::LOGICAL_UNIT {
        return Err(invalid(5));
    }
    if kind == DesignatorType::NAA && code_set != CodeSet::BINARY || !(1..=3).contains(&code_set.0) {
        return Err(invalid(4));
    }
    let designator_length = usize::from(cscd.designator_length);
    if designator_length == 0 || designator_length > cscd.designator.len() {
        return Err(invalid(7));
    }
    const DIRECT_ACCESS_BLOCK_DEVICE: u8 = 0x00;
    Ok(Endpoint {
        code_set,
        kind,
        is_block_device: cscd.peripheral & 0x1f == DIRECT_ACCESS_BLOCK_DEVICE
            && cscd.block_length_bytes() == LOGICAL_BLOCK_BYTES,
        designator: cscd.designator,
        designator_length,
    })
}

fn parse_segments(
    mut rest: &[u8],
    mut at: usize,
    limits: &OperatingParameters,
    too_short: impl Fn(u64) -> Fault,
) -> Result<Vec<Segment>, Fault> {
    let mut segments = Vec::new();
    let limit = u64::from(limits.maximum_segment_count);
    while let Some(&descriptor_type) = rest.first() {
        let type_at = FieldPointer::parameter_list(at);
        let (segment, bytes, length_at) = match descriptor_type {
            SEGMENT_BLOCK_TO_BLOCK => {
                const BYTES: usize = size_of::<BlockToBlockSegment>();
                let (raw, _) =
                    BlockToBlockSegment::read_from_prefix(rest).map_err(|_| too_short((at + BYTES) as u64))?;
                check_length(&raw.header, BYTES, at)?;
                (block_to_block(&raw), BYTES, at + 10)
            }
            SEGMENT_BLOCK_TO_BLOCK_OFFSET => {
                const BYTES: usize = size_of::<BlockToBlockOffsetSegment>();
                let (raw, _) =
                    BlockToBlockOffsetSegment::read_from_prefix(rest).map_err(|_| too_short((at + BYTES) as u64))?;
                check_length(&raw.header, BYTES, at)?;
                (block_to_block_offset(&raw, at)?, BYTES, at + 8)
            }
            _ => return Err(Fault::UnsupportedSegment { descriptor_type, at: type_at }),
        };
        let longest = u64::from(limits.maximum_segment_length);
        let segment_bytes = segment.block_count * BLOCK;
        if segment_bytes > longest {
            let at = FieldPointer::parameter_list(length_at);
            return Err(Fault::AboveLimit { requested: segment_bytes, limit: longest, at });
        }
        segments.push(segment);
        rest = rest.get(bytes..).unwrap_or_default();
        at += bytes;
    }
    let count = segments.len() as u64;
    if count > limit {
        return Err(Fault::TooManySegments { count, limit });
    }
    Ok(segments)
}

fn check_length(header: &SegmentHeader, bytes: usize, at: usize) -> Result<(), Fault> {
    if usize::from(header.descriptor_length.get()) == bytes - size_of::<SegmentHeader>() {
        Ok(())
    } else {
        Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at + 2)))
    }
}

/// DC only says whether the count is in source or destination blocks, which have the same length here; CAT would join a rest that
/// whole blocks do not leave.
fn block_to_block(raw: &BlockToBlockSegment) -> Segment {
    Segment {
        source: raw.source.get(),
        destination: raw.destination.get(),
        source_lba: raw.source_lba.get(),
        destination_lba: raw.destination_lba.get(),
        block_count: u64::from(raw.block_count.get()),
    }
}

/// Byte offsets and count have to be whole blocks: the data segment granularity is 512 bytes.
fn block_to_block_offset(raw: &BlockToBlockOffsetSegment, at: usize) -> Result<Segment, Fault> {
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
    Ok(Segment {
        source: raw.source.get(),
        destination: raw.destination.get(),
        // An LBA that saturates is beyond every logical unit and is refused as such.
        source_lba: raw.source_lba.get().saturating_add(source_skip),
        destination_lba: raw.destination_lba.get().saturating_add(destination_skip),
        block_count,
    })
}
