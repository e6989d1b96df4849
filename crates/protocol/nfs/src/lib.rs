//! NFS without I/O: types of the protocol, each with both directions of its encoding.
//!
//! * [`v3`]: NFSv3 (RFC 1813); [`mount`]: MOUNT version 3 (RFC 1813 appendix I).
//!
//! The types know lengths and numbers. What a name, an owner or a time may be is decided above.
#![forbid(unsafe_code)]

pub mod mount;
mod status;
pub mod v3;

/// Number of the NFS program.
pub const PROGRAM: u32 = 100_003;
/// Port of NFS servers.
pub const PORT: u16 = 2049;
