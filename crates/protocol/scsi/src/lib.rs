//! T10 types in wire format: CDBs, parameter lists and data, VPD and mode pages, sense data.
//!
//! Sources are SPC-4, SBC-3 and SAM-5. Where offsets changed in later revisions and both agree, the
//! later ones are given. The crate has no behaviour: no logical unit, no device, no I/O. A fixed
//! layout is a struct whose size is asserted; a code is a number with names, so that an unknown one
//! survives.
#![forbid(unsafe_code)]

pub mod capacity;
pub mod cdb;
pub mod defect;
pub mod inquiry;
pub mod log;
pub mod lun;
pub mod mode;
pub mod opcode;
pub mod persistent_reservation;
pub mod provisioning;
pub mod report;
pub mod rod_token;
pub mod sanitize;
pub mod sense;
pub mod status;
pub mod target_port_groups;
pub mod third_party_copy;

pub use cdb::Cdb;
pub use lun::LogicalUnitNumber;
pub use sense::{AdditionalSense, FieldArea, FieldPointer, FixedSense, SenseKey};
pub use status::Status;

/// Truncates `data` to an allocation length; a short allocation length is not an error (SPC-4
/// §4.2.5.6).
pub fn truncate(mut data: Vec<u8>, allocation_length: usize) -> Vec<u8> {
    data.truncate(allocation_length);
    data
}
