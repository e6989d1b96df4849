//! EXTENDED COPY parameter lists, with list identifiers of one byte (LID1) and of four (LID4), and RECEIVE COPY
//! RESULTS parameter data, SPC-4 §6.4, §6.5 and §6.17 to §6.22.
//!
//! Supported are CSCD (copy source and copy destination) descriptors of type E4h, and segments
//! without stream devices: types 02h, 07h, 0Ah and 0Dh.

use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// CSCD descriptor type: identification descriptor.
pub const CSCD_IDENTIFICATION: u8 = 0xe4;
/// Segment descriptor type: block device to block device.
pub const SEGMENT_BLOCK_TO_BLOCK: u8 = 0x02;
/// Segment descriptor type: verify CSCD operation.
pub const SEGMENT_VERIFY: u8 = 0x07;
/// Segment descriptor type: block device to block device, with a copy of the data held for the application client.
pub const SEGMENT_BLOCK_TO_BLOCK_HOLD: u8 = 0x0d;
/// Segment descriptor type: block device with offset to block device with offset.
pub const SEGMENT_BLOCK_TO_BLOCK_OFFSET: u8 = 0x0a;
/// CSCD index that names the logical unit which received the command.
pub const CSCD_RECEIVING_LOGICAL_UNIT: u16 = 0xffff;

/// LIST ID USAGE: results are kept for RECEIVE COPY RESULTS.
pub const LIST_ID_HELD: u8 = 0b00;
/// LIST ID USAGE: results may be discarded on completion.
pub const LIST_ID_DISCARDED: u8 = 0b10;
/// LIST ID USAGE: no list identifier; the field is 0.
pub const LIST_ID_NONE: u8 = 0b11;

/// Start of an EXTENDED COPY (LID1) parameter list. 16 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct ParameterListHeader {
    /// LIST IDENTIFIER.
    pub list_identifier: u8,
    /// STR (bit 5), LIST ID USAGE (bits 4-3), PRIORITY (bits 2-0).
    pub usage: u8,
    /// Bytes of CSCD descriptors.
    pub cscd_descriptor_list_length: U16,
    reserved: [u8; 4],
    /// Bytes of segment descriptors.
    pub segment_descriptor_list_length: U32,
    /// Bytes of inline data.
    pub inline_data_length: U32,
}
const _: () = assert!(size_of::<ParameterListHeader>() == 16);

impl ParameterListHeader {
    /// LIST ID USAGE field.
    pub const fn list_id_usage(&self) -> u8 {
        self.usage >> 3 & 0b11
    }

    /// Creates a header; for initiators and tests.
    pub const fn new(list_identifier: u8, list_id_usage: u8, cscd_length: u16, segment_length: u32) -> Self {
        Self {
            list_identifier,
            usage: (list_id_usage & 0b11) << 3,
            cscd_descriptor_list_length: U16::new(cscd_length),
            reserved: [0; 4],
            segment_descriptor_list_length: U32::new(segment_length),
            inline_data_length: U32::new(0),
        }
    }
}

/// Start of an EXTENDED COPY (LID4) parameter list. 48 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct ParameterListHeaderLid4 {
    /// PARAMETER LIST FORMAT, 01h.
    pub format: u8,
    /// STR (bit 5), LIST ID USAGE (bits 4-3), PRIORITY (bits 2-0).
    pub usage: u8,
    /// HEADER CSCD DESCRIPTOR LIST LENGTH, 0020h.
    pub header_cscd_length: U16,
    reserved: [u8; 11],
    /// G_SENSE (bit 1), IMMED (bit 0).
    pub flags: u8,
    /// HEADER CSCD DESCRIPTOR TYPE CODE, FFh.
    pub header_cscd_type: u8,
    reserved_2: [u8; 3],
    /// LIST IDENTIFIER.
    pub list_identifier: U32,
    reserved_3: [u8; 18],
    /// Bytes of CSCD descriptors.
    pub cscd_descriptor_list_length: U16,
    /// Bytes of segment descriptors.
    pub segment_descriptor_list_length: U16,
    /// Bytes of inline data.
    pub inline_data_length: U16,
}
const _: () = assert!(size_of::<ParameterListHeaderLid4>() == 48);

impl ParameterListHeaderLid4 {
    /// PARAMETER LIST FORMAT of this header.
    pub const FORMAT: u8 = 0x01;
    /// HEADER CSCD DESCRIPTOR LIST LENGTH of this header.
    pub const HEADER_CSCD_LENGTH: u16 = 0x20;
    /// HEADER CSCD DESCRIPTOR TYPE CODE of this header.
    pub const HEADER_CSCD_TYPE: u8 = 0xff;
    /// IMMED: status is returned when the list has been checked.
    pub const IMMED: u8 = 0x01;
    /// G_SENSE: GOOD status is returned with sense data.
    pub const G_SENSE: u8 = 0x02;

    /// LIST ID USAGE field.
    pub const fn list_id_usage(&self) -> u8 {
        self.usage >> 3 & 0b11
    }

    /// Creates a header; for initiators and tests.
    pub const fn new(
        list_identifier: u32,
        list_id_usage: u8,
        flags: u8,
        cscd_length: u16,
        segment_length: u16,
    ) -> Self {
        Self {
            format: Self::FORMAT,
            usage: (list_id_usage & 0b11) << 3,
            header_cscd_length: U16::new(Self::HEADER_CSCD_LENGTH),
            reserved: [0; 11],
            flags,
            header_cscd_type: Self::HEADER_CSCD_TYPE,
            reserved_2: [0; 3],
            list_identifier: U32::new(list_identifier),
            reserved_3: [0; 18],
            cscd_descriptor_list_length: U16::new(cscd_length),
            segment_descriptor_list_length: U16::new(segment_length),
            inline_data_length: U16::new(0),
        }
    }
}

/// Identification CSCD descriptor, E4h, of a block device. 32 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct IdentificationCscd {
    /// E4h.
    pub descriptor_type: u8,
    /// LU ID TYPE (bits 7-6) and NUL (bit 5) are obsolete; PERIPHERAL DEVICE TYPE (bits 4-0).
    pub peripheral: u8,
    /// RELATIVE INITIATOR PORT IDENTIFIER.
    pub relative_initiator_port: U16,
    /// CODE SET (bits 3-0).
    pub code_set: u8,
    /// ASSOCIATION (bits 5-4), DESIGNATOR TYPE (bits 3-0).
    pub designator_kind: u8,
    reserved: u8,
    /// Bytes of `designator` in use, at most 20.
    pub designator_length: u8,
    /// The designator, zero padded.
    pub designator: [u8; 20],
    /// PAD (bit 2).
    pub pad: u8,
    /// DISK BLOCK LENGTH, 24 bits.
    pub block_length: [u8; 3],
}
const _: () = assert!(size_of::<IdentificationCscd>() == 32);

impl IdentificationCscd {
    /// Creates a descriptor of a logical unit by its 16-byte NAA designator; for initiators and
    /// tests.
    pub fn naa(naa: &[u8; 16]) -> Self {
        let mut designator = [0; 20];
        for (slot, byte) in designator.iter_mut().zip(naa) {
            *slot = *byte;
        }
        Self {
            descriptor_type: CSCD_IDENTIFICATION,
            peripheral: 0,
            relative_initiator_port: U16::new(0),
            code_set: 1,
            designator_kind: 3,
            reserved: 0,
            designator_length: 16,
            designator,
            pad: 0,
            block_length: [0, 2, 0],
        }
    }

    /// DISK BLOCK LENGTH in bytes.
    pub fn block_length_bytes(&self) -> u32 {
        let [high, middle, low] = self.block_length;
        u32::from_be_bytes([0, high, middle, low])
    }
}

/// Header of every segment descriptor. 4 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct SegmentHeader {
    /// Descriptor type.
    pub descriptor_type: u8,
    /// CAT (bit 0), DC (bit 1).
    pub flags: u8,
    /// Bytes that follow this field.
    pub descriptor_length: U16,
}
const _: () = assert!(size_of::<SegmentHeader>() == 4);

/// Verify CSCD segment descriptor, 07h. 12 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct VerifySegment {
    /// Type 07h, length 0008h.
    pub header: SegmentHeader,
    /// SOURCE CSCD INDEX: logical unit to verify.
    pub source: U16,
    reserved: [u8; 2],
    /// TUR (bit 0): the logical unit has to be ready.
    pub flags: u8,
    reserved_2: [u8; 3],
}
const _: () = assert!(size_of::<VerifySegment>() == 12);

impl VerifySegment {
    /// TUR: tests whether the logical unit is ready.
    pub const TUR: u8 = 0x01;

    /// Creates a segment; for initiators and tests.
    pub const fn new(source: u16, flags: u8) -> Self {
        Self {
            header: SegmentHeader { descriptor_type: SEGMENT_VERIFY, flags: 0, descriptor_length: U16::new(8) },
            source: U16::new(source),
            reserved: [0; 2],
            flags,
            reserved_2: [0; 3],
        }
    }
}

/// Block-to-block segment descriptor, 02h, and with another type 0Dh. 28 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct BlockToBlockSegment {
    /// Type 02h or 0Dh, length 0018h.
    pub header: SegmentHeader,
    /// SOURCE CSCD INDEX.
    pub source: U16,
    /// DESTINATION CSCD INDEX.
    pub destination: U16,
    reserved: U16,
    /// Blocks to copy; 0 copies nothing.
    pub block_count: U16,
    /// First block read.
    pub source_lba: U64,
    /// First block written.
    pub destination_lba: U64,
}
const _: () = assert!(size_of::<BlockToBlockSegment>() == 28);

impl BlockToBlockSegment {
    /// Creates a segment; for initiators and tests.
    pub const fn new(source: u16, destination: u16, block_count: u16, source_lba: u64, destination_lba: u64) -> Self {
        Self {
            header: SegmentHeader {
                descriptor_type: SEGMENT_BLOCK_TO_BLOCK,
                flags: 0,
                descriptor_length: U16::new(0x18),
            },
            source: U16::new(source),
            destination: U16::new(destination),
            reserved: U16::new(0),
            block_count: U16::new(block_count),
            source_lba: U64::new(source_lba),
            destination_lba: U64::new(destination_lba),
        }
    }
}

/// Block-with-offset segment descriptor, 0Ah. 32 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct BlockToBlockOffsetSegment {
    /// Type 0Ah, length 001Ch.
    pub header: SegmentHeader,
    /// SOURCE CSCD INDEX.
    pub source: U16,
    /// DESTINATION CSCD INDEX.
    pub destination: U16,
    /// Bytes to copy; 0 copies nothing.
    pub byte_count: U32,
    /// Block in which the source begins.
    pub source_lba: U64,
    /// Block in which the destination begins.
    pub destination_lba: U64,
    /// Byte offset into the source block.
    pub source_offset: U16,
    /// Byte offset into the destination block.
    pub destination_offset: U16,
}
const _: () = assert!(size_of::<BlockToBlockOffsetSegment>() == 32);

impl BlockToBlockOffsetSegment {
    /// Creates a segment without offsets; for initiators and tests.
    pub const fn new(source: u16, destination: u16, byte_count: u32, source_lba: u64, destination_lba: u64) -> Self {
        Self {
            header: SegmentHeader {
                descriptor_type: SEGMENT_BLOCK_TO_BLOCK_OFFSET,
                flags: 0,
                descriptor_length: U16::new(0x1c),
            },
            source: U16::new(source),
            destination: U16::new(destination),
            byte_count: U32::new(byte_count),
            source_lba: U64::new(source_lba),
            destination_lba: U64::new(destination_lba),
            source_offset: U16::new(0),
            destination_offset: U16::new(0),
        }
    }
}

/// Limits of a copy manager in RECEIVE COPY OPERATING PARAMETERS and in the third-party copy VPD
/// page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatingParameters {
    /// MAXIMUM CSCD DESCRIPTOR COUNT.
    pub maximum_cscd_count: u16,
    /// MAXIMUM SEGMENT DESCRIPTOR COUNT.
    pub maximum_segment_count: u16,
    /// MAXIMUM DESCRIPTOR LIST LENGTH, bytes of CSCD and segment descriptors.
    pub maximum_descriptor_list_length: u32,
    /// MAXIMUM SEGMENT LENGTH, bytes.
    pub maximum_segment_length: u32,
    /// TOTAL CONCURRENT COPIES.
    pub total_concurrent_copies: u16,
    /// MAXIMUM CONCURRENT COPIES (with a list identifier).
    pub maximum_concurrent_copies: u8,
    /// DATA SEGMENT GRANULARITY, log2 bytes.
    pub data_segment_granularity: u8,
    /// HELD DATA LIMIT: bytes held for RECEIVE COPY DATA.
    pub held_data_limit: u32,
    /// HELD DATA GRANULARITY, log2 bytes.
    pub held_data_granularity: u8,
    /// Descriptor types, ascending.
    pub implemented_descriptors: &'static [u8],
}

impl OperatingParameters {
    /// RECEIVE COPY OPERATING PARAMETERS parameter data (SNLID = 1).
    pub fn encode(&self) -> Vec<u8> {
        let list_length = u8::try_from(self.implemented_descriptors.len()).unwrap_or(u8::MAX);
        let mut data = vec![0; 4];
        data.extend_from_slice(&[1, 0, 0, 0]);
        data.extend_from_slice(&self.maximum_cscd_count.to_be_bytes());
        data.extend_from_slice(&self.maximum_segment_count.to_be_bytes());
        data.extend_from_slice(&self.maximum_descriptor_list_length.to_be_bytes());
        data.extend_from_slice(&self.maximum_segment_length.to_be_bytes());
        data.extend_from_slice(&[0; 4]); // inline data: for stream devices only
        data.extend_from_slice(&self.held_data_limit.to_be_bytes());
        data.extend_from_slice(&[0; 6]); // stream transfer size: none; 2 reserved
        data.extend_from_slice(&self.total_concurrent_copies.to_be_bytes());
        data.extend_from_slice(&[
            self.maximum_concurrent_copies,
            self.data_segment_granularity,
            0,
            self.held_data_granularity,
            0,
            0,
            0,
        ]);
        data.push(list_length);
        data.extend_from_slice(self.implemented_descriptors);
        let available = u32::try_from(data.len() - 4).unwrap_or(u32::MAX);
        data.splice(..4, available.to_be_bytes());
        data
    }
}

/// COPY COMMAND STATUS values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CopyStatus {
    /// Running.
    InProgress = 0x00,
    /// Completed without error.
    Completed = 0x01,
    /// Completed with error.
    Failed = 0x02,
}

/// RECEIVE COPY STATUS (LID1) parameter data. `bytes` is encoded in the smallest unit that fits;
/// `discarded` is HDD.
pub fn copy_status(status: CopyStatus, discarded: bool, segments_processed: u16, bytes: u64) -> Vec<u8> {
    let mut count = bytes;
    let mut units = 0u8;
    while count > u64::from(u32::MAX) {
        count >>= 10;
        units += 1;
    }
    let mut data = 8u32.to_be_bytes().to_vec();
    data.push(status as u8 | if discarded { 0x80 } else { 0 });
    data.extend_from_slice(&segments_processed.to_be_bytes());
    data.push(units);
    data.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes());
    data
}

/// RECEIVE COPY DATA (LID1) parameter data.
pub fn copy_data(held: &[u8]) -> Vec<u8> {
    let mut data = u32::try_from(held.len()).unwrap_or(u32::MAX).to_be_bytes().to_vec();
    data.extend_from_slice(held);
    data
}

/// COPY OPERATION STATUS values of the LID4 and token commands, SPC-4 table "COPY OPERATION STATUS field".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OperationStatus {
    /// Completed without errors.
    Completed = 0x01,
    /// Completed with errors.
    Failed = 0x02,
    /// In progress; the command that started it has not ended.
    InForeground = 0x11,
    /// In progress; the command that started it has ended with IMMED.
    InBackground = 0x12,
    /// Ended early, for instance by COPY OPERATION ABORT.
    Terminated = 0x60,
}

/// Unit of a TRANSFER COUNT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TransferCountUnits {
    /// Bytes.
    Bytes = 0x00,
    /// Logical blocks.
    LogicalBlocks = 0xf1,
}

/// First part of the parameter data of RECEIVE COPY STATUS (LID4), RECEIVE COPY DATA (LID4) and
/// RECEIVE ROD TOKEN INFORMATION.
#[derive(Clone, Debug)]
pub struct OperationInformation<'a> {
    /// RESPONSE TO SERVICE ACTION: service action of the command that started the operation.
    pub service_action: u8,
    /// COPY OPERATION STATUS.
    pub status: OperationStatus,
    /// HDD: held data was discarded.
    pub held_data_discarded: bool,
    /// OPERATION COUNTER.
    pub operations: u16,
    /// EXTENDED COPY COMPLETION STATUS: the SCSI status.
    pub completion_status: u8,
    /// SENSE DATA.
    pub sense: &'a [u8],
    /// TRANSFER COUNT UNITS.
    pub units: TransferCountUnits,
    /// TRANSFER COUNT.
    pub transfer_count: u64,
    /// SEGMENTS PROCESSED.
    pub segments: u16,
}

impl OperationInformation<'_> {
    /// Encodes the parameter data; `tail` follows the sense data.
    pub fn encode(&self, tail: &[u8]) -> Vec<u8> {
        const NO_ESTIMATE: u32 = 0xffff_fffe;
        let sense = self.sense.get(..self.sense.len().min(0xfc)).unwrap_or_default();
        let sense_length = u8::try_from(sense.len()).unwrap_or(u8::MAX);
        let mut data = vec![0; 4];
        data.push(self.service_action);
        data.push(self.status as u8 | if self.held_data_discarded { 0x80 } else { 0 });
        data.extend_from_slice(&self.operations.to_be_bytes());
        data.extend_from_slice(&NO_ESTIMATE.to_be_bytes());
        data.extend_from_slice(&[self.completion_status, sense_length, sense_length, self.units as u8]);
        data.extend_from_slice(&self.transfer_count.to_be_bytes());
        data.extend_from_slice(&self.segments.to_be_bytes());
        data.extend_from_slice(&[0; 6]);
        data.extend_from_slice(sense);
        data.extend_from_slice(tail);
        let available = u32::try_from(data.len() - 4).unwrap_or(u32::MAX);
        data.splice(..4, available.to_be_bytes());
        data
    }
}

/// RECEIVE COPY FAILURE DETAILS (LID1) parameter data: status code and sense data of the failed copy.
pub fn failure_details(status: u8, sense: &[u8]) -> Vec<u8> {
    let mut data = vec![0; 56];
    data.extend_from_slice(&[status, 0]);
    data.extend_from_slice(&u16::try_from(sense.len()).unwrap_or(u16::MAX).to_be_bytes());
    data.extend_from_slice(sense);
    let available = u32::try_from(data.len() - 4).unwrap_or(u32::MAX);
    data.splice(..4, available.to_be_bytes());
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn descriptors_have_their_bytes() {
        let naa = hex!("6000 0000 0000 0000 0000 0000 0000 0001");
        assert_eq!(
            IdentificationCscd::naa(&naa).as_bytes(),
            hex!("e4 00 0000 01 03 00 10 60000000000000000000000000000001 00000000 00 000200")
        );
        assert_eq!(
            BlockToBlockSegment::new(0, 1, 0x2000, 1, 2).as_bytes(),
            hex!("02 00 0018 0000 0001 0000 2000 0000000000000001 0000000000000002")
        );
        assert_eq!(
            ParameterListHeader::new(0, LIST_ID_NONE, 0x40, 0x1c).as_bytes(),
            hex!("00 18 0040 00000000 0000001c 00000000")
        );
    }

    #[test]
    fn operating_parameters_have_their_offsets() {
        let parameters = OperatingParameters {
            maximum_cscd_count: 64,
            maximum_segment_count: 64,
            maximum_descriptor_list_length: 0x0f00,
            maximum_segment_length: 0x01e0_0000,
            total_concurrent_copies: 0xff,
            maximum_concurrent_copies: 0xff,
            data_segment_granularity: 9,
            held_data_limit: 0x1_0000,
            held_data_granularity: 0,
            implemented_descriptors: &[0x02, 0xe4],
        };
        assert_eq!(
            parameters.encode(),
            hex!(
                "0000002a 01000000 0040 0040 00000f00 01e00000 00000000 00010000 00000000 0000 00ff ff 09 00 00 000000 02 02 e4"
            )
        );
    }

    #[test]
    fn copy_status_scales_its_count() {
        assert_eq!(copy_status(CopyStatus::Completed, false, 3, 512), hex!("00000008 01 0003 00 00000200"));
        assert_eq!(copy_status(CopyStatus::Completed, true, 1, 1 << 33), hex!("00000008 81 0001 01 00800000"));
    }

    #[test]
    fn the_header_with_four_bytes_of_list_identifier_has_its_bytes() {
        let header = ParameterListHeaderLid4::new(0x0102_0304, LIST_ID_DISCARDED, 0x01, 0x40, 0x1c);
        assert_eq!(
            header.as_bytes(),
            hex!(
                "01 10 0020 0000000000000000000000 01 ff 000000 01020304
                 000000000000000000000000000000000000 0040 001c 0000"
            )
        );
        assert_eq!(VerifySegment::new(1, VerifySegment::TUR).as_bytes(), hex!("07 00 0008 0001 0000 01 000000"));
    }

    #[test]
    fn operation_information_has_its_offsets() {
        let information = OperationInformation {
            service_action: 0x10,
            status: OperationStatus::Completed,
            held_data_discarded: false,
            operations: 1,
            completion_status: 0,
            sense: &[0x70, 0],
            units: TransferCountUnits::LogicalBlocks,
            transfer_count: 0x800,
            segments: 2,
        };
        assert_eq!(
            information.encode(&[9]),
            hex!("0000001f 10 01 0001 fffffffe 00 02 02 f1 0000000000000800 0002 000000000000 7000 09")
        );
    }

    #[test]
    fn failure_details_place_status_and_sense() {
        let data = failure_details(0x02, &[0x70]);
        assert_eq!((data.len(), data[3], data[56], data[59], data[60]), (61, 57, 0x02, 1, 0x70));
    }
}
