//! Parameter lists of EXTENDED COPY, with list identifiers of one byte (LID1) and of four (LID4),
//! from bytes to checked values. Every fault that SPC-4 §6.4.3 and §6.5.3 let a copy manager report
//! before it starts is reported here.

use crate::copy_segments::{self, Segment};
use crate::sense::Fault;
use block::LOGICAL_BLOCK_BYTES;
use scsi::FieldPointer;
use scsi::inquiry::{Association, CodeSet, DesignatorType};
use scsi::third_party_copy::{
    CSCD_IDENTIFICATION, IdentificationCscd, LIST_ID_DISCARDED, LIST_ID_HELD, LIST_ID_NONE, OperatingParameters,
    ParameterListHeader, ParameterListHeaderLid4,
};
use zerocopy::FromBytes;

/// Bytes before the descriptors, LID1.
pub(super) const HEADER_BYTES: usize = size_of::<ParameterListHeader>();
/// Bytes before the descriptors, LID4.
pub(super) const HEADER_BYTES_LID4: usize = size_of::<ParameterListHeaderLid4>();
const CSCD_BYTES: usize = size_of::<IdentificationCscd>();

/// A checked parameter list.
pub(crate) struct ParameterList {
    /// `None`: no list identifier.
    pub list_id: Option<u32>,
    list_id_usage: u8,
    /// Status is returned before the copy begins.
    pub immediate: bool,
    /// GOOD status comes with sense data.
    pub good_with_sense: bool,
    pub endpoints: Vec<Endpoint>,
    pub segments: Vec<Segment>,
}

/// Copy source or destination, named by its logical-unit designator.
pub(crate) struct Endpoint {
    pub code_set: CodeSet,
    pub kind: DesignatorType,
    /// Device type and block length equal those of every logical unit of this target.
    pub is_block_device: bool,
    designator: [u8; 20],
    designator_length: usize,
}

impl Endpoint {
    pub fn designator(&self) -> &[u8] {
        self.designator.get(..self.designator_length).unwrap_or_default()
    }
}

/// Fields that both forms of the header have.
struct Header {
    bytes: usize,
    list_id: u32,
    list_id_at: usize,
    list_id_usage: u8,
    cscd_bytes: u64,
    segment_bytes: u64,
    inline_bytes: u32,
    flags: u8,
}

impl ParameterList {
    /// Results are kept for RECEIVE COPY RESULTS.
    pub fn keeps_results(&self) -> bool {
        self.list_id_usage == LIST_ID_HELD
    }

    /// Parses a list of EXTENDED COPY (LID1).
    pub fn parse_lid1(list: &[u8], limits: &OperatingParameters) -> Result<Self, Fault> {
        let too_short = |needed_bytes: usize| length_error(list, needed_bytes as u64);
        let (raw, _) = ParameterListHeader::read_from_prefix(list).map_err(|_| too_short(HEADER_BYTES))?;
        let header = Header {
            bytes: HEADER_BYTES,
            list_id: u32::from(raw.list_identifier),
            list_id_at: 0,
            list_id_usage: raw.list_id_usage(),
            cscd_bytes: u64::from(raw.cscd_descriptor_list_length.get()),
            segment_bytes: u64::from(raw.segment_descriptor_list_length.get()),
            inline_bytes: raw.inline_data_length.get(),
            flags: 0,
        };
        Self::parse(list, &header, limits)
    }

    /// Parses a list of EXTENDED COPY (LID4).
    pub fn parse_lid4(list: &[u8], limits: &OperatingParameters) -> Result<Self, Fault> {
        type Raw = ParameterListHeaderLid4;
        let invalid = |at: usize| Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(at)));
        let too_short = |needed_bytes: usize| length_error(list, needed_bytes as u64);
        let (raw, _) = Raw::read_from_prefix(list).map_err(|_| too_short(HEADER_BYTES_LID4))?;
        if raw.format != Raw::FORMAT {
            return invalid(0);
        }
        if raw.header_cscd_length.get() != Raw::HEADER_CSCD_LENGTH {
            return invalid(2);
        }
        if raw.flags & !(Raw::IMMED | Raw::G_SENSE) != 0 {
            return invalid(15);
        }
        if raw.header_cscd_type != Raw::HEADER_CSCD_TYPE {
            return invalid(16);
        }
        let header = Header {
            bytes: HEADER_BYTES_LID4,
            list_id: raw.list_identifier.get(),
            list_id_at: 20,
            list_id_usage: raw.list_id_usage(),
            cscd_bytes: u64::from(raw.cscd_descriptor_list_length.get()),
            segment_bytes: u64::from(raw.segment_descriptor_list_length.get()),
            inline_bytes: u32::from(raw.inline_data_length.get()),
            flags: raw.flags,
        };
        // Without a list identifier the result of the operation could not be queried.
        if raw.flags & Raw::IMMED != 0 && header.list_id_usage == LIST_ID_NONE {
            return invalid(1);
        }
        Self::parse(list, &header, limits)
    }

    fn parse(list: &[u8], header: &Header, limits: &OperatingParameters) -> Result<Self, Fault> {
        let too_short = |needed_bytes: u64| length_error(list, needed_bytes);
        let list_id = match header.list_id_usage {
            LIST_ID_HELD | LIST_ID_DISCARDED => Some(header.list_id),
            LIST_ID_NONE if header.list_id == 0 => None,
            LIST_ID_NONE => {
                return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(header.list_id_at)));
            }
            _ => return Err(Fault::InvalidFieldInParameterList(FieldPointer::parameter_list(1))),
        };
        let descriptor_bytes = header.cscd_bytes + header.segment_bytes;
        if descriptor_bytes > u64::from(limits.maximum_descriptor_list_length) {
            return Err(too_short(header.bytes as u64 + descriptor_bytes));
        }
        if header.inline_bytes > 0 {
            return Err(Fault::InlineData { bytes: header.inline_bytes });
        }
        let segments_at = header.bytes + usize::try_from(header.cscd_bytes).unwrap_or(usize::MAX);
        let end = segments_at + usize::try_from(header.segment_bytes).unwrap_or(usize::MAX);
        let cscds = list.get(header.bytes..segments_at).ok_or(too_short(end as u64))?;
        let segments = list.get(segments_at..end).ok_or(too_short(end as u64))?;

        let count = (cscds.len() / CSCD_BYTES) as u64;
        let limit = u64::from(limits.maximum_cscd_count);
        if count > limit {
            return Err(Fault::TooManyCscds { count, limit });
        }
        let mut endpoints = Vec::with_capacity(cscds.len() / CSCD_BYTES);
        for (index, bytes) in cscds.chunks(CSCD_BYTES).enumerate() {
            endpoints.push(parse_cscd(bytes, header.bytes + index * CSCD_BYTES, too_short)?);
        }
        Ok(Self {
            list_id,
            list_id_usage: header.list_id_usage,
            immediate: header.flags & ParameterListHeaderLid4::IMMED != 0,
            good_with_sense: header.flags & ParameterListHeaderLid4::G_SENSE != 0,
            endpoints,
            segments: copy_segments::parse(segments, segments_at, limits, too_short)?,
        })
    }
}

fn length_error(list: &[u8], needed_bytes: u64) -> Fault {
    Fault::ParameterListLength { given_bytes: list.len() as u64, needed_bytes }
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
