//! Sense data in fixed format, SPC-4 §4.5.3, with sense-key specific field pointers (§4.5.2.4).
//!
//! Descriptor format is left out on purpose: D_SENSE stays 0, because every initiator supports
//! fixed format.

/// Sense key, SPC-4 §4.5.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SenseKey(pub u8);

impl SenseKey {
    /// Nothing to report.
    pub const NO_SENSE: Self = Self(0x0);
    /// The logical unit cannot be accessed.
    pub const NOT_READY: Self = Self(0x2);
    /// The medium failed.
    pub const MEDIUM_ERROR: Self = Self(0x3);
    /// The device failed.
    pub const HARDWARE_ERROR: Self = Self(0x4);
    /// The CDB or a parameter is wrong.
    pub const ILLEGAL_REQUEST: Self = Self(0x5);
    /// An event occurred that is reported to the I_T nexus before further commands.
    pub const UNIT_ATTENTION: Self = Self(0x6);
    /// The block is protected, or no space can be allocated for it.
    pub const DATA_PROTECT: Self = Self(0x7);
    /// A third-party copy stopped after it started.
    pub const COPY_ABORTED: Self = Self(0xa);
    /// Information about a command that completed.
    pub const COMPLETED: Self = Self(0xf);
    /// The device aborted the command.
    pub const ABORTED_COMMAND: Self = Self(0xb);
    /// The data differs from the medium.
    pub const MISCOMPARE: Self = Self(0xe);
}

/// Additional sense code and qualifier: ASC in the high byte, ASCQ in the low. SPC-4 annex F.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdditionalSense(pub u16);

impl AdditionalSense {
    /// 00/00.
    pub const NO_ADDITIONAL_SENSE_INFORMATION: Self = Self(0x0000);
    /// 00/16.
    pub const OPERATION_IN_PROGRESS: Self = Self(0x0016);
    /// 00/20.
    pub const EXTENDED_COPY_INFORMATION_AVAILABLE: Self = Self(0x0020);
    /// 04/1B.
    pub const LOGICAL_UNIT_NOT_READY_SANITIZE_IN_PROGRESS: Self = Self(0x041b);
    /// 04/0A.
    pub const LOGICAL_UNIT_NOT_ACCESSIBLE_ASYMMETRIC_ACCESS_STATE_TRANSITION: Self = Self(0x040a);
    /// 04/0B.
    pub const LOGICAL_UNIT_NOT_ACCESSIBLE_TARGET_PORT_IN_STANDBY_STATE: Self = Self(0x040b);
    /// 04/0C.
    pub const LOGICAL_UNIT_NOT_ACCESSIBLE_TARGET_PORT_IN_UNAVAILABLE_STATE: Self = Self(0x040c);
    /// 0D/01.
    pub const THIRD_PARTY_DEVICE_FAILURE: Self = Self(0x0d01);
    /// 0D/02.
    pub const COPY_TARGET_DEVICE_NOT_REACHABLE: Self = Self(0x0d02);
    /// 0D/03.
    pub const INCORRECT_COPY_TARGET_DEVICE_TYPE: Self = Self(0x0d03);
    /// 0E/03.
    pub const INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT: Self = Self(0x0e03);
    /// 11/00.
    pub const UNRECOVERED_READ_ERROR: Self = Self(0x1100);
    /// 1A/00.
    pub const PARAMETER_LIST_LENGTH_ERROR: Self = Self(0x1a00);
    /// 1D/00.
    pub const MISCOMPARE_DURING_VERIFY_OPERATION: Self = Self(0x1d00);
    /// 20/00.
    pub const INVALID_COMMAND_OPERATION_CODE: Self = Self(0x2000);
    /// 21/00.
    pub const LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE: Self = Self(0x2100);
    /// 23/01.
    pub const INVALID_TOKEN_OPERATION_UNSUPPORTED_TOKEN_TYPE: Self = Self(0x2301);
    /// 23/04.
    pub const INVALID_TOKEN_OPERATION_TOKEN_UNKNOWN: Self = Self(0x2304);
    /// 23/05.
    pub const INVALID_TOKEN_OPERATION_TOKEN_CORRUPT: Self = Self(0x2305);
    /// 23/06.
    pub const INVALID_TOKEN_OPERATION_TOKEN_REVOKED: Self = Self(0x2306);
    /// 23/07.
    pub const INVALID_TOKEN_OPERATION_TOKEN_EXPIRED: Self = Self(0x2307);
    /// 23/08.
    pub const INVALID_TOKEN_OPERATION_TOKEN_CANCELLED: Self = Self(0x2308);
    /// 23/09.
    pub const INVALID_TOKEN_OPERATION_TOKEN_DELETED: Self = Self(0x2309);
    /// 23/0A.
    pub const INVALID_TOKEN_OPERATION_INVALID_TOKEN_LENGTH: Self = Self(0x230a);
    /// 24/00.
    pub const INVALID_FIELD_IN_CDB: Self = Self(0x2400);
    /// 25/00.
    pub const LOGICAL_UNIT_NOT_SUPPORTED: Self = Self(0x2500);
    /// 26/00.
    pub const INVALID_FIELD_IN_PARAMETER_LIST: Self = Self(0x2600);
    /// 26/04.
    pub const INVALID_RELEASE_OF_PERSISTENT_RESERVATION: Self = Self(0x2604);
    /// 26/06.
    pub const TOO_MANY_TARGET_DESCRIPTORS: Self = Self(0x2606);
    /// 26/07.
    pub const UNSUPPORTED_TARGET_DESCRIPTOR_TYPE_CODE: Self = Self(0x2607);
    /// 26/08.
    pub const TOO_MANY_SEGMENT_DESCRIPTORS: Self = Self(0x2608);
    /// 26/09.
    pub const UNSUPPORTED_SEGMENT_DESCRIPTOR_TYPE_CODE: Self = Self(0x2609);
    /// 26/0B.
    pub const INLINE_DATA_LENGTH_EXCEEDED: Self = Self(0x260b);
    /// 26/0D.
    pub const COPY_SEGMENT_GRANULARITY_VIOLATION: Self = Self(0x260d);
    /// 27/00.
    pub const WRITE_PROTECTED: Self = Self(0x2700);
    /// 27/02.
    pub const LOGICAL_UNIT_SOFTWARE_WRITE_PROTECTED: Self = Self(0x2702);
    /// 27/07.
    pub const SPACE_ALLOCATION_FAILED_WRITE_PROTECT: Self = Self(0x2707);
    /// 28/00.
    pub const NOT_READY_TO_READY_CHANGE: Self = Self(0x2800);
    /// 29/00.
    pub const POWER_ON_RESET_OR_BUS_DEVICE_RESET_OCCURRED: Self = Self(0x2900);
    /// 29/03.
    pub const BUS_DEVICE_RESET_FUNCTION_OCCURRED: Self = Self(0x2903);
    /// 29/07.
    pub const I_T_NEXUS_LOSS_OCCURRED: Self = Self(0x2907);
    /// 2A/01.
    pub const MODE_PARAMETERS_CHANGED: Self = Self(0x2a01);
    /// 2A/03.
    pub const RESERVATIONS_PREEMPTED: Self = Self(0x2a03);
    /// 2A/04.
    pub const RESERVATIONS_RELEASED: Self = Self(0x2a04);
    /// 2A/05.
    pub const REGISTRATIONS_PREEMPTED: Self = Self(0x2a05);
    /// 2A/06.
    pub const ASYMMETRIC_ACCESS_STATE_CHANGED: Self = Self(0x2a06);
    /// 2A/07.
    pub const IMPLICIT_ASYMMETRIC_ACCESS_STATE_TRANSITION_FAILED: Self = Self(0x2a07);
    /// 2A/09.
    pub const CAPACITY_DATA_HAS_CHANGED: Self = Self(0x2a09);
    /// 2F/00.
    pub const COMMANDS_CLEARED_BY_ANOTHER_INITIATOR: Self = Self(0x2f00);
    /// 2F/02.
    pub const COMMANDS_CLEARED_BY_DEVICE_SERVER: Self = Self(0x2f02);
    /// 31/03.
    pub const SANITIZE_COMMAND_FAILED: Self = Self(0x3103);
    /// 38/07.
    pub const THIN_PROVISIONING_SOFT_THRESHOLD_REACHED: Self = Self(0x3807);
    /// 39/00.
    pub const SAVING_PARAMETERS_NOT_SUPPORTED: Self = Self(0x3900);
    /// 3A/00.
    pub const MEDIUM_NOT_PRESENT: Self = Self(0x3a00);
    /// 3F/03.
    pub const INQUIRY_DATA_HAS_CHANGED: Self = Self(0x3f03);
    /// 3F/0E.
    pub const REPORTED_LUNS_DATA_HAS_CHANGED: Self = Self(0x3f0e);
    /// 44/00.
    pub const INTERNAL_TARGET_FAILURE: Self = Self(0x4400);
    /// 49/00.
    pub const INVALID_MESSAGE_ERROR: Self = Self(0x4900);
    /// 4B/00.
    pub const DATA_PHASE_ERROR: Self = Self(0x4b00);
    /// 53/02.
    pub const MEDIUM_REMOVAL_PREVENTED: Self = Self(0x5302);
    /// 55/03.
    pub const INSUFFICIENT_RESOURCES: Self = Self(0x5503);
    /// 55/0C.
    pub const INSUFFICIENT_RESOURCES_TO_CREATE_ROD: Self = Self(0x550c);
    /// 55/0D.
    pub const INSUFFICIENT_RESOURCES_TO_CREATE_ROD_TOKEN: Self = Self(0x550d);
    /// 55/04.
    pub const INSUFFICIENT_REGISTRATION_RESOURCES: Self = Self(0x5504);

    /// 67/0A.
    pub const SET_TARGET_PORT_GROUPS_COMMAND_FAILED: Self = Self(0x670a);

    /// Additional sense code (ASC).
    pub const fn code(self) -> u8 {
        self.0.to_be_bytes()[0]
    }

    /// Additional sense code qualifier (ASCQ).
    pub const fn qualifier(self) -> u8 {
        self.0.to_be_bytes()[1]
    }
}

/// Area in which a field pointer counts bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldArea {
    /// Bytes of the CDB.
    Cdb,
    /// Bytes of the parameter list.
    ParameterList,
    /// Bytes of the segment descriptor that failed (COPY ABORTED only, SPC-4 §4.5.2.4.4).
    SegmentDescriptor,
}

/// Byte, and optionally bit, in error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldPointer {
    /// Area in which `byte` counts.
    pub area: FieldArea,
    /// First byte of the field in error.
    pub byte: u16,
    /// Most significant bit of the field in error, 7 to 0.
    pub bit: Option<u8>,
}

impl FieldPointer {
    /// A byte of the CDB.
    pub const fn cdb(byte: u16) -> Self {
        Self { area: FieldArea::Cdb, byte, bit: None }
    }

    /// A bit of the CDB.
    pub const fn cdb_bit(byte: u16, bit: u8) -> Self {
        Self { area: FieldArea::Cdb, byte, bit: Some(bit) }
    }

    /// A byte of the parameter list; an offset above 65 535 is reported as 65 535.
    pub fn parameter_list(byte: usize) -> Self {
        Self { area: FieldArea::ParameterList, byte: u16::try_from(byte).unwrap_or(u16::MAX), bit: None }
    }

    /// A bit of the parameter list; an offset above 65 535 is reported as 65 535.
    pub fn parameter_list_bit(byte: usize, bit: u8) -> Self {
        Self { bit: Some(bit), ..Self::parameter_list(byte) }
    }

    /// A byte of the segment descriptor.
    pub const fn segment(byte: u16) -> Self {
        Self { area: FieldArea::SegmentDescriptor, byte, bit: None }
    }

    fn encode(&self) -> [u8; 3] {
        const VALID: u8 = 0x80;
        let area = match self.area {
            FieldArea::Cdb => 0x40,
            FieldArea::ParameterList => 0,
            FieldArea::SegmentDescriptor => 0x20,
        };
        let bit = self.bit.map_or(0, |bit| 0x08 | (bit & 0x07));
        let [high, low] = self.byte.to_be_bytes();
        [VALID | area | bit, high, low]
    }
}

/// Current sense data in fixed format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedSense {
    /// Sense key.
    pub key: SenseKey,
    /// Additional sense code and qualifier.
    pub additional: AdditionalSense,
    /// INFORMATION field; omitted (VALID = 0) when the value exceeds 32 bits.
    pub information: Option<u64>,
    /// COMMAND-SPECIFIC INFORMATION field.
    pub command_specific: [u8; 4],
    /// Sense-key specific field pointer.
    pub field: Option<FieldPointer>,
    /// Sense-key specific progress indication (SPC-4 §4.5.2.4.5), in 1/65 536. Only without a field
    /// pointer.
    pub progress: Option<u16>,
    /// Bytes appended after byte 17: the status byte and sense data of a copy source or destination
    /// (SPC-4 §6.4, "EXTENDED COPY considerations"); `command_specific` points at them.
    pub forwarded: Vec<u8>,
}

impl FixedSense {
    /// Bytes of the fixed part.
    pub const BYTES: usize = 18;

    /// Creates sense data with key and code only.
    pub const fn new(key: SenseKey, additional: AdditionalSense) -> Self {
        Self {
            key,
            additional,
            information: None,
            command_specific: [0; 4],
            field: None,
            progress: None,
            forwarded: Vec::new(),
        }
    }

    /// Encodes the sense data: 18 bytes and the forwarded ones, at most 252.
    pub fn encode(&self) -> Vec<u8> {
        let forwarded = self.forwarded.get(..self.forwarded.len().min(252 - Self::BYTES)).unwrap_or_default();
        let information = self.information.and_then(|value| u32::try_from(value).ok());
        let mut bytes = Vec::with_capacity(Self::BYTES + forwarded.len());
        bytes.push(if information.is_some() { 0xf0 } else { 0x70 });
        bytes.push(0);
        bytes.push(self.key.0);
        bytes.extend_from_slice(&information.unwrap_or(0).to_be_bytes());
        bytes.push(u8::try_from(Self::BYTES - 8 + forwarded.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(&self.command_specific);
        bytes.push(self.additional.code());
        bytes.push(self.additional.qualifier());
        bytes.push(0);
        bytes.extend_from_slice(&match (&self.field, self.progress) {
            (Some(field), _) => field.encode(),
            (None, Some(progress)) => {
                let [high, low] = progress.to_be_bytes();
                [0x80, high, low]
            }
            (None, None) => [0; 3],
        });
        bytes.extend_from_slice(forwarded);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn miscompare_carries_the_offset_of_the_first_difference() {
        let mut sense = FixedSense::new(SenseKey::MISCOMPARE, AdditionalSense::MISCOMPARE_DURING_VERIFY_OPERATION);
        sense.information = Some(0x1e5);
        assert_eq!(sense.encode(), hex!("f0 00 0e 00 00 01 e5 0a 00 00 00 00 1d 00 00 00 00 00"));
    }

    #[test]
    fn field_pointer_names_byte_and_bit_of_the_cdb() {
        let mut sense = FixedSense::new(SenseKey::ILLEGAL_REQUEST, AdditionalSense::INVALID_FIELD_IN_CDB);
        sense.field = Some(FieldPointer::cdb_bit(1, 7));
        assert_eq!(sense.encode(), hex!("70 00 05 00 00 00 00 0a 00 00 00 00 24 00 00 cf 00 01"));
    }

    #[test]
    fn a_progress_indication_is_sense_key_specific() {
        let additional = AdditionalSense::LOGICAL_UNIT_NOT_READY_SANITIZE_IN_PROGRESS;
        let sense = FixedSense { progress: Some(0x8001), ..FixedSense::new(SenseKey::NOT_READY, additional) };
        assert_eq!(sense.encode(), hex!("70 00 02 00 00 00 00 0a 00 00 00 00 04 1b 00 80 80 01"));
    }

    #[test]
    fn information_above_32_bits_is_left_out() {
        let mut sense = FixedSense::new(SenseKey::MEDIUM_ERROR, AdditionalSense::UNRECOVERED_READ_ERROR);
        sense.information = Some(1 << 32);
        assert_eq!(sense.encode().first(), Some(&0x70));
    }

    #[test]
    fn forwarded_sense_follows_the_fixed_part() {
        let mut sense = FixedSense::new(SenseKey::COPY_ABORTED, AdditionalSense::THIRD_PARTY_DEVICE_FAILURE);
        sense.forwarded = vec![0x18];
        let bytes = sense.encode();
        assert_eq!((bytes.len(), bytes[7], bytes[18]), (19, 11, 0x18));
    }
}
