//! Basic header segments, RFC 7143 §11: one 48-byte struct for each PDU, and the codes in them.
//!
//! [`framing`](crate::framing) handles the data segment, additional header segments and digests.

mod codes;

pub use codes::*;

use zerocopy::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Length of a basic header segment in bytes.
pub const HEADER_BYTES: usize = 48;

/// Basic header segment in wire format.
pub type RawHeader = [u8; HEADER_BYTES];

/// Reserved value of Initiator Task Tag, Target Transfer Tag and SNACK Tag.
pub const RESERVED_TAG: u32 = 0xFFFF_FFFF;

/// Byte 0: the I bit, immediate delivery (RFC 7143 §11.2.1.1).
pub const IMMEDIATE: u8 = 0x40;
/// Byte 1: the F bit, final PDU of a sequence.
pub const FINAL: u8 = 0x80;
/// Byte 1 of Text and Login: the C bit, the text continues in the next PDU.
pub const CONTINUE: u8 = 0x40;
/// Byte 1 of Login: the T bit, transit to the next stage.
pub const TRANSIT: u8 = 0x80;
/// Byte 1 of SCSI Command: the R bit, Data-In is expected.
pub const READ: u8 = 0x40;
/// Byte 1 of SCSI Command: the W bit, Data-Out is expected.
pub const WRITE: u8 = 0x20;
/// Byte 1 of SCSI Response and Data-In: residual overflow.
pub const OVERFLOW: u8 = 0x04;
/// Byte 1 of SCSI Response and Data-In: residual underflow.
pub const UNDERFLOW: u8 = 0x02;
/// Byte 1 of SCSI Response: residual overflow of a bidirectional read.
pub const BIDIRECTIONAL_OVERFLOW: u8 = 0x10;
/// Byte 1 of SCSI Response: residual underflow of a bidirectional read.
pub const BIDIRECTIONAL_UNDERFLOW: u8 = 0x08;
/// Byte 1 of Data-In: the S bit, the PDU carries the status.
pub const STATUS: u8 = 0x01;

/// A 24-bit big-endian number: DataSegmentLength, in bytes without padding.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct U24([u8; 3]);

impl U24 {
    /// Largest value.
    pub const MAX: u32 = 0x00FF_FFFF;

    /// Creates the number; bits above 24 are dropped.
    pub const fn new(value: u32) -> Self {
        let [_, a, b, c] = value.to_be_bytes();
        Self([a, b, c])
    }

    /// Value of the number.
    pub const fn get(self) -> u32 {
        let [a, b, c] = self.0;
        u32::from_be_bytes([0, a, b, c])
    }
}

macro_rules! header {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $visibility:vis $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
        #[repr(C)]
        pub struct $name {
            $($(#[$field_doc])* $visibility $field: $type,)*
        }
        const _: () = assert!(size_of::<$name>() == HEADER_BYTES);

        impl $name {
            /// Decodes the header; every bit pattern is valid.
            pub fn from_wire(raw: &RawHeader) -> Self {
                zerocopy::transmute!(*raw)
            }

            /// Encodes the header in wire format.
            pub fn to_wire(self) -> RawHeader {
                zerocopy::transmute!(self)
            }
        }
    };
}

header! {
    /// Fields that every header has, RFC 7143 §11.2.1.
    BasicHeader {
        /// Opcode and I bit.
        pub opcode: u8,
        /// F bit and bits of the PDU type.
        pub flags: u8,
        specific: [u8; 2],
        /// Length of all additional header segments, in 4-byte words.
        pub total_ahs_length: u8,
        /// Length of the data segment in bytes, without padding.
        pub data_segment_length: U24,
        /// LUN, or fields of the PDU type.
        pub lun: [u8; 8],
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        specific_end: [u8; 28],
    }
}

impl BasicHeader {
    /// Opcode without the I bit.
    pub fn opcode(&self) -> Opcode {
        Opcode(self.opcode & 0x3F)
    }
}

header! {
    /// SCSI Command, RFC 7143 §11.3.
    ScsiCommand {
        /// Opcode and I bit.
        pub opcode: u8,
        /// F, R, W and task attribute.
        pub flags: u8,
        pub(crate) reserved: [u8; 2],
        /// Length of all additional header segments, in 4-byte words.
        pub total_ahs_length: u8,
        /// Length of the immediate data in bytes.
        pub data_segment_length: U24,
        /// LUN.
        pub lun: [u8; 8],
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        /// Expected Data Transfer Length: bytes of Data-Out if W, else of Data-In.
        pub expected_data_transfer_length: U32,
        /// CmdSN.
        pub cmd_sn: U32,
        /// ExpStatSN.
        pub exp_stat_sn: U32,
        /// First 16 bytes of the CDB, padded with zeros.
        pub cdb: [u8; 16],
    }
}

header! {
    /// SCSI Response, RFC 7143 §11.4.
    ScsiResponse {
        /// Opcode.
        pub opcode: u8,
        /// 80h and the residual bits.
        pub flags: u8,
        /// iSCSI service response: 0 completed at target, 1 target failure.
        pub response: u8,
        /// SCSI status.
        pub status: u8,
        pub(crate) total_ahs_length: u8,
        /// Length of sense length and sense data in bytes.
        pub data_segment_length: U24,
        pub(crate) reserved: [u8; 8],
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        /// SNACK Tag.
        pub snack_tag: U32,
        /// StatSN.
        pub stat_sn: U32,
        /// ExpCmdSN.
        pub exp_cmd_sn: U32,
        /// MaxCmdSN.
        pub max_cmd_sn: U32,
        /// Number of Data-In and R2T PDUs sent for the command.
        pub exp_data_sn: U32,
        /// Residual of the Data-In part of a bidirectional command, in bytes.
        pub bidirectional_residual_count: U32,
        /// Residual in bytes.
        pub residual_count: U32,
    }
}

header! {
    /// Task Management Function Request, RFC 7143 §11.5.
    TaskManagementRequest {
        /// Opcode and I bit.
        pub opcode: u8,
        /// 80h and the function.
        pub flags: u8,
        pub(crate) reserved: [u8; 2],
        pub(crate) total_ahs_length: u8,
        pub(crate) data_segment_length: U24,
        /// LUN.
        pub lun: [u8; 8],
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        /// Initiator Task Tag of the referenced task.
        pub referenced_task_tag: U32,
        /// CmdSN.
        pub cmd_sn: U32,
        /// ExpStatSN.
        pub exp_stat_sn: U32,
        /// CmdSN of the referenced task.
        pub ref_cmd_sn: U32,
        /// ExpDataSN, for TASK REASSIGN.
        pub exp_data_sn: U32,
        pub(crate) reserved_end: [u8; 8],
    }
}

header! {
    /// Task Management Function Response, RFC 7143 §11.6.
    TaskManagementResponseHeader {
        /// Opcode.
        pub opcode: u8,
        /// 80h.
        pub flags: u8,
        /// See [`TaskManagementResponse`].
        pub response: u8,
        pub(crate) reserved: u8,
        pub(crate) total_ahs_length: u8,
        pub(crate) data_segment_length: U24,
        /// Additional response information, of QUERY ASYNCHRONOUS EVENT (RFC 7144 §6.3).
        pub additional_response_information: [u8; 3],
        pub(crate) reserved_lun: [u8; 5],
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        pub(crate) reserved_tag: U32,
        /// StatSN.
        pub stat_sn: U32,
        /// ExpCmdSN.
        pub exp_cmd_sn: U32,
        /// MaxCmdSN.
        pub max_cmd_sn: U32,
        pub(crate) reserved_end: [u8; 12],
    }
}

header! {
    /// SCSI Data-Out, RFC 7143 §11.7.
    DataOut {
        /// Opcode.
        pub opcode: u8,
        /// F.
        pub flags: u8,
        pub(crate) reserved: [u8; 2],
        pub(crate) total_ahs_length: u8,
        /// Length of the data in bytes.
        pub data_segment_length: U24,
        /// LUN, when the Target Transfer Tag is given.
        pub lun: [u8; 8],
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        /// Target Transfer Tag of the R2T; [`RESERVED_TAG`] when unsolicited.
        pub target_transfer_tag: U32,
        pub(crate) reserved_cmd_sn: U32,
        /// ExpStatSN.
        pub exp_stat_sn: U32,
        pub(crate) reserved_max_cmd_sn: U32,
        /// DataSN within the sequence.
        pub data_sn: U32,
        /// Offset of the data in the whole transfer, in bytes.
        pub buffer_offset: U32,
        pub(crate) reserved_end: U32,
    }
}

header! {
    /// SCSI Data-In, RFC 7143 §11.7.
    DataIn {
        /// Opcode.
        pub opcode: u8,
        /// F, A, O, U, S.
        pub flags: u8,
        pub(crate) reserved: u8,
        /// SCSI status, when S.
        pub status: u8,
        pub(crate) total_ahs_length: u8,
        /// Length of the data in bytes.
        pub data_segment_length: U24,
        /// LUN, when A.
        pub lun: [u8; 8],
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        /// Target Transfer Tag, when A.
        pub target_transfer_tag: U32,
        /// StatSN, when S.
        pub stat_sn: U32,
        /// ExpCmdSN.
        pub exp_cmd_sn: U32,
        /// MaxCmdSN.
        pub max_cmd_sn: U32,
        /// DataSN within the command.
        pub data_sn: U32,
        /// Offset of the data in the whole transfer, in bytes.
        pub buffer_offset: U32,
        /// Residual in bytes, when S.
        pub residual_count: U32,
    }
}

header! {
    /// Ready To Transfer, RFC 7143 §11.8.
    R2t {
        /// Opcode.
        pub opcode: u8,
        /// 80h.
        pub flags: u8,
        pub(crate) reserved: [u8; 2],
        pub(crate) total_ahs_length: u8,
        pub(crate) data_segment_length: U24,
        /// LUN.
        pub lun: [u8; 8],
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        /// Target Transfer Tag that the Data-Out has to carry.
        pub target_transfer_tag: U32,
        /// Next StatSN; not advanced.
        pub stat_sn: U32,
        /// ExpCmdSN.
        pub exp_cmd_sn: U32,
        /// MaxCmdSN.
        pub max_cmd_sn: U32,
        /// R2TSN within the command.
        pub r2t_sn: U32,
        /// Offset of the first requested byte.
        pub buffer_offset: U32,
        /// Number of requested bytes.
        pub desired_data_transfer_length: U32,
    }
}

header! {
    /// Asynchronous Message, RFC 7143 §11.9.
    AsyncMessage {
        /// Opcode.
        pub opcode: u8,
        /// 80h.
        pub flags: u8,
        pub(crate) reserved: [u8; 2],
        pub(crate) total_ahs_length: u8,
        /// Length of sense data and event data in bytes.
        pub data_segment_length: U24,
        /// LUN, for a SCSI event.
        pub lun: [u8; 8],
        /// [`RESERVED_TAG`].
        pub initiator_task_tag: U32,
        pub(crate) reserved_tag: U32,
        /// StatSN.
        pub stat_sn: U32,
        /// ExpCmdSN.
        pub exp_cmd_sn: U32,
        /// MaxCmdSN.
        pub max_cmd_sn: U32,
        /// See [`AsyncEvent`].
        pub async_event: u8,
        /// Vendor code.
        pub async_vendor_code: u8,
        /// Parameter1.
        pub parameter1: U16,
        /// Parameter2.
        pub parameter2: U16,
        /// Parameter3.
        pub parameter3: U16,
        pub(crate) reserved_end: U32,
    }
}

header! {
    /// Text Request, RFC 7143 §11.10.
    TextRequest {
        /// Opcode and I bit.
        pub opcode: u8,
        /// F and C.
        pub flags: u8,
        pub(crate) reserved: [u8; 2],
        pub(crate) total_ahs_length: u8,
        /// Length of the text in bytes.
        pub data_segment_length: U24,
        /// LUN, when the Target Transfer Tag is given.
        pub lun: [u8; 8],
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        /// [`RESERVED_TAG`], or the tag of the response that this request continues.
        pub target_transfer_tag: U32,
        /// CmdSN.
        pub cmd_sn: U32,
        /// ExpStatSN.
        pub exp_stat_sn: U32,
        pub(crate) reserved_end: [u8; 16],
    }
}

header! {
    /// Text Response, RFC 7143 §11.11.
    TextResponse {
        /// Opcode.
        pub opcode: u8,
        /// F and C.
        pub flags: u8,
        pub(crate) reserved: [u8; 2],
        pub(crate) total_ahs_length: u8,
        /// Length of the text in bytes.
        pub data_segment_length: U24,
        /// LUN.
        pub lun: [u8; 8],
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        /// [`RESERVED_TAG`] if final, else the tag to continue with.
        pub target_transfer_tag: U32,
        /// StatSN.
        pub stat_sn: U32,
        /// ExpCmdSN.
        pub exp_cmd_sn: U32,
        /// MaxCmdSN.
        pub max_cmd_sn: U32,
        pub(crate) reserved_end: [u8; 12],
    }
}

header! {
    /// Login Request, RFC 7143 §11.12.
    LoginRequest {
        /// Opcode and I bit.
        pub opcode: u8,
        /// T, C, CSG, NSG.
        pub flags: u8,
        /// Highest version supported.
        pub version_max: u8,
        /// Lowest version supported.
        pub version_min: u8,
        pub(crate) total_ahs_length: u8,
        /// Length of the text in bytes.
        pub data_segment_length: U24,
        /// ISID.
        pub isid: [u8; 6],
        /// TSIH, 0 for a new session.
        pub tsih: U16,
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        /// CID.
        pub cid: U16,
        pub(crate) reserved: U16,
        /// CmdSN.
        pub cmd_sn: U32,
        /// ExpStatSN.
        pub exp_stat_sn: U32,
        pub(crate) reserved_end: [u8; 16],
    }
}

header! {
    /// Login Response, RFC 7143 §11.13.
    LoginResponse {
        /// Opcode.
        pub opcode: u8,
        /// T, C, CSG, NSG.
        pub flags: u8,
        /// Highest version supported.
        pub version_max: u8,
        /// Version in use.
        pub version_active: u8,
        pub(crate) total_ahs_length: u8,
        /// Length of the text in bytes.
        pub data_segment_length: U24,
        /// ISID.
        pub isid: [u8; 6],
        /// TSIH; non-zero in the final response.
        pub tsih: U16,
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        pub(crate) reserved: U32,
        /// StatSN.
        pub stat_sn: U32,
        /// ExpCmdSN.
        pub exp_cmd_sn: U32,
        /// MaxCmdSN.
        pub max_cmd_sn: U32,
        /// Status-Class.
        pub status_class: u8,
        /// Status-Detail.
        pub status_detail: u8,
        pub(crate) reserved_end: [u8; 10],
    }
}

header! {
    /// Logout Request, RFC 7143 §11.14.
    LogoutRequest {
        /// Opcode and I bit.
        pub opcode: u8,
        /// 80h and the reason.
        pub flags: u8,
        pub(crate) reserved: [u8; 2],
        pub(crate) total_ahs_length: u8,
        pub(crate) data_segment_length: U24,
        pub(crate) reserved_lun: [u8; 8],
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        /// CID.
        pub cid: U16,
        pub(crate) reserved_cid: U16,
        /// CmdSN.
        pub cmd_sn: U32,
        /// ExpStatSN.
        pub exp_stat_sn: U32,
        pub(crate) reserved_end: [u8; 16],
    }
}

header! {
    /// Logout Response, RFC 7143 §11.15.
    LogoutResponse {
        /// Opcode.
        pub opcode: u8,
        /// 80h.
        pub flags: u8,
        /// See [`LogoutResponseCode`].
        pub response: u8,
        pub(crate) reserved: u8,
        pub(crate) total_ahs_length: u8,
        pub(crate) data_segment_length: U24,
        pub(crate) reserved_lun: [u8; 8],
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        pub(crate) reserved_tag: U32,
        /// StatSN.
        pub stat_sn: U32,
        /// ExpCmdSN.
        pub exp_cmd_sn: U32,
        /// MaxCmdSN.
        pub max_cmd_sn: U32,
        pub(crate) reserved_data_sn: U32,
        /// Time2Wait in seconds.
        pub time2wait: U16,
        /// Time2Retain in seconds.
        pub time2retain: U16,
        pub(crate) reserved_end: U32,
    }
}

header! {
    /// Reject, RFC 7143 §11.17. The data segment is the header of the rejected PDU.
    Reject {
        /// Opcode.
        pub opcode: u8,
        /// 80h.
        pub flags: u8,
        /// See [`RejectReason`].
        pub reason: u8,
        pub(crate) reserved: u8,
        pub(crate) total_ahs_length: u8,
        /// Length of the data in bytes.
        pub data_segment_length: U24,
        pub(crate) reserved_lun: [u8; 8],
        /// [`RESERVED_TAG`].
        pub initiator_task_tag: U32,
        pub(crate) reserved_tag: U32,
        /// StatSN.
        pub stat_sn: U32,
        /// ExpCmdSN.
        pub exp_cmd_sn: U32,
        /// MaxCmdSN.
        pub max_cmd_sn: U32,
        /// DataSN or R2TSN.
        pub data_sn: U32,
        pub(crate) reserved_end: [u8; 8],
    }
}

header! {
    /// NOP-Out, RFC 7143 §11.18.
    NopOut {
        /// Opcode and I bit.
        pub opcode: u8,
        /// 80h.
        pub flags: u8,
        pub(crate) reserved: [u8; 2],
        pub(crate) total_ahs_length: u8,
        /// Length of the ping data in bytes.
        pub data_segment_length: U24,
        /// LUN, when the Target Transfer Tag is given.
        pub lun: [u8; 8],
        /// [`RESERVED_TAG`] if no answer is requested.
        pub initiator_task_tag: U32,
        /// Tag of the NOP-In that this answers, else [`RESERVED_TAG`].
        pub target_transfer_tag: U32,
        /// CmdSN.
        pub cmd_sn: U32,
        /// ExpStatSN.
        pub exp_stat_sn: U32,
        pub(crate) reserved_end: [u8; 16],
    }
}

header! {
    /// NOP-In, RFC 7143 §11.19.
    NopIn {
        /// Opcode.
        pub opcode: u8,
        /// 80h.
        pub flags: u8,
        pub(crate) reserved: [u8; 2],
        pub(crate) total_ahs_length: u8,
        /// Length of the ping data in bytes.
        pub data_segment_length: U24,
        /// LUN.
        pub lun: [u8; 8],
        /// Tag of the NOP-Out that this answers, else [`RESERVED_TAG`].
        pub initiator_task_tag: U32,
        /// [`RESERVED_TAG`] unless an answer is requested.
        pub target_transfer_tag: U32,
        /// StatSN.
        pub stat_sn: U32,
        /// ExpCmdSN.
        pub exp_cmd_sn: U32,
        /// MaxCmdSN.
        pub max_cmd_sn: U32,
        pub(crate) reserved_end: [u8; 12],
    }
}

header! {
    /// SNACK Request, RFC 7143 §11.16.
    SnackRequest {
        /// Opcode.
        pub opcode: u8,
        /// 80h and the type.
        pub flags: u8,
        pub(crate) reserved: [u8; 2],
        pub(crate) total_ahs_length: u8,
        pub(crate) data_segment_length: U24,
        /// LUN.
        pub lun: [u8; 8],
        /// Initiator Task Tag.
        pub initiator_task_tag: U32,
        /// Target Transfer Tag or SNACK Tag.
        pub target_transfer_tag: U32,
        pub(crate) reserved_cmd_sn: U32,
        /// ExpStatSN.
        pub exp_stat_sn: U32,
        pub(crate) reserved_max: [u8; 8],
        /// First requested number.
        pub beg_run: U32,
        /// Number of requested PDUs, 0 for all.
        pub run_length: U32,
    }
}

/// Returns a header of zeros with opcode, flags and Initiator Task Tag set; callers decode it as
/// their type and fill in the rest.
pub fn blank(opcode: u8, flags: u8, initiator_task_tag: u32) -> RawHeader {
    let mut raw: RawHeader = [0; HEADER_BYTES];
    let tag = initiator_task_tag.to_be_bytes();
    raw[0] = opcode;
    raw[1] = flags;
    raw[16..20].copy_from_slice(&tag);
    raw
}

/// Serial number arithmetic (RFC 1982): true when `a` comes before `b`.
pub(crate) const fn sn_before(a: u32, b: u32) -> bool {
    a != b && b.wrapping_sub(a) < 0x8000_0000
}

#[cfg(test)]
mod tests;
