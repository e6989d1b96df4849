//! Operation codes (byte 0 of a CDB) and service actions, SPC-4 annex F.

/// TEST UNIT READY.
pub const TEST_UNIT_READY: u8 = 0x00;
/// REQUEST SENSE.
pub const REQUEST_SENSE: u8 = 0x03;
/// READ (6).
pub const READ_6: u8 = 0x08;
/// WRITE (6).
pub const WRITE_6: u8 = 0x0a;
/// INQUIRY.
pub const INQUIRY: u8 = 0x12;
/// MODE SELECT (6).
pub const MODE_SELECT_6: u8 = 0x15;
/// RESERVE (6).
pub const RESERVE_6: u8 = 0x16;
/// RELEASE (6).
pub const RELEASE_6: u8 = 0x17;
/// MODE SENSE (6).
pub const MODE_SENSE_6: u8 = 0x1a;
/// START STOP UNIT.
pub const START_STOP_UNIT: u8 = 0x1b;
/// PREVENT ALLOW MEDIUM REMOVAL.
pub const PREVENT_ALLOW_MEDIUM_REMOVAL: u8 = 0x1e;
/// READ CAPACITY (10).
pub const READ_CAPACITY_10: u8 = 0x25;
/// READ (10).
pub const READ_10: u8 = 0x28;
/// WRITE (10).
pub const WRITE_10: u8 = 0x2a;
/// WRITE AND VERIFY (10).
pub const WRITE_AND_VERIFY_10: u8 = 0x2e;
/// VERIFY (10).
pub const VERIFY_10: u8 = 0x2f;
/// PRE-FETCH (10).
pub const PRE_FETCH_10: u8 = 0x34;
/// SYNCHRONIZE CACHE (10).
pub const SYNCHRONIZE_CACHE_10: u8 = 0x35;
/// READ DEFECT DATA (10).
pub const READ_DEFECT_DATA_10: u8 = 0x37;
/// WRITE SAME (10).
pub const WRITE_SAME_10: u8 = 0x41;
/// UNMAP.
pub const UNMAP: u8 = 0x42;
/// LOG SENSE.
pub const LOG_SENSE: u8 = 0x4d;
/// MODE SELECT (10).
pub const MODE_SELECT_10: u8 = 0x55;
/// MODE SENSE (10).
pub const MODE_SENSE_10: u8 = 0x5a;
/// PERSISTENT RESERVE IN.
pub const PERSISTENT_RESERVE_IN: u8 = 0x5e;
/// PERSISTENT RESERVE OUT.
pub const PERSISTENT_RESERVE_OUT: u8 = 0x5f;
/// THIRD-PARTY COPY OUT.
pub const THIRD_PARTY_COPY_OUT: u8 = 0x83;
/// THIRD-PARTY COPY IN.
pub const THIRD_PARTY_COPY_IN: u8 = 0x84;
/// READ (16).
pub const READ_16: u8 = 0x88;
/// COMPARE AND WRITE.
pub const COMPARE_AND_WRITE: u8 = 0x89;
/// WRITE (16).
pub const WRITE_16: u8 = 0x8a;
/// ORWRITE (16).
pub const ORWRITE_16: u8 = 0x8b;
/// WRITE AND VERIFY (16).
pub const WRITE_AND_VERIFY_16: u8 = 0x8e;
/// VERIFY (16).
pub const VERIFY_16: u8 = 0x8f;
/// PRE-FETCH (16).
pub const PRE_FETCH_16: u8 = 0x90;
/// SYNCHRONIZE CACHE (16).
pub const SYNCHRONIZE_CACHE_16: u8 = 0x91;
/// WRITE SAME (16).
pub const WRITE_SAME_16: u8 = 0x93;
/// WRITE ATOMIC (16).
pub const WRITE_ATOMIC_16: u8 = 0x9c;
/// SERVICE ACTION IN (16).
pub const SERVICE_ACTION_IN_16: u8 = 0x9e;
/// REPORT LUNS.
pub const REPORT_LUNS: u8 = 0xa0;
/// MAINTENANCE IN.
pub const MAINTENANCE_IN: u8 = 0xa3;
/// READ (12).
pub const READ_12: u8 = 0xa8;
/// WRITE (12).
pub const WRITE_12: u8 = 0xaa;
/// WRITE AND VERIFY (12).
pub const WRITE_AND_VERIFY_12: u8 = 0xae;
/// VERIFY (12).
pub const VERIFY_12: u8 = 0xaf;
/// READ DEFECT DATA (12).
pub const READ_DEFECT_DATA_12: u8 = 0xb7;

/// Service actions, by the operation code that they belong to.
pub mod service_action {
    /// PERSISTENT RESERVE IN: READ KEYS.
    pub const READ_KEYS: u8 = 0x00;
    /// PERSISTENT RESERVE IN: READ RESERVATION.
    pub const READ_RESERVATION: u8 = 0x01;
    /// PERSISTENT RESERVE IN: REPORT CAPABILITIES.
    pub const REPORT_CAPABILITIES: u8 = 0x02;
    /// PERSISTENT RESERVE IN: READ FULL STATUS.
    pub const READ_FULL_STATUS: u8 = 0x03;
    /// PERSISTENT RESERVE OUT: REGISTER.
    pub const REGISTER: u8 = 0x00;
    /// PERSISTENT RESERVE OUT: RESERVE.
    pub const RESERVE: u8 = 0x01;
    /// PERSISTENT RESERVE OUT: RELEASE.
    pub const RELEASE: u8 = 0x02;
    /// PERSISTENT RESERVE OUT: CLEAR.
    pub const CLEAR: u8 = 0x03;
    /// PERSISTENT RESERVE OUT: PREEMPT.
    pub const PREEMPT: u8 = 0x04;
    /// PERSISTENT RESERVE OUT: PREEMPT AND ABORT.
    pub const PREEMPT_AND_ABORT: u8 = 0x05;
    /// PERSISTENT RESERVE OUT: REGISTER AND IGNORE EXISTING KEY.
    pub const REGISTER_AND_IGNORE_EXISTING_KEY: u8 = 0x06;
    /// PERSISTENT RESERVE OUT: REGISTER AND MOVE.
    pub const REGISTER_AND_MOVE: u8 = 0x07;
    /// SERVICE ACTION IN (16): READ CAPACITY (16).
    pub const READ_CAPACITY_16: u8 = 0x10;
    /// SERVICE ACTION IN (16): GET LBA STATUS.
    pub const GET_LBA_STATUS: u8 = 0x12;
    /// MAINTENANCE IN: REPORT TARGET PORT GROUPS.
    pub const REPORT_TARGET_PORT_GROUPS: u8 = 0x0a;
    /// MAINTENANCE IN: REPORT SUPPORTED OPERATION CODES.
    pub const REPORT_SUPPORTED_OPERATION_CODES: u8 = 0x0c;
    /// MAINTENANCE IN: REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS.
    pub const REPORT_SUPPORTED_TASK_MANAGEMENT_FUNCTIONS: u8 = 0x0d;
    /// THIRD-PARTY COPY OUT: EXTENDED COPY (LID1).
    pub const EXTENDED_COPY_LID1: u8 = 0x00;
    /// THIRD-PARTY COPY IN: RECEIVE COPY STATUS (LID1).
    pub const RECEIVE_COPY_STATUS_LID1: u8 = 0x00;
    /// THIRD-PARTY COPY IN: RECEIVE COPY OPERATING PARAMETERS.
    pub const RECEIVE_COPY_OPERATING_PARAMETERS: u8 = 0x03;
    /// THIRD-PARTY COPY IN: RECEIVE COPY FAILURE DETAILS (LID1).
    pub const RECEIVE_COPY_FAILURE_DETAILS_LID1: u8 = 0x04;
}
