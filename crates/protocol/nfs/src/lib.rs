//! NFS without I/O: types of the protocol, each with both directions of its encoding.
//!
//! * [`v3`]: NFSv3 (RFC 1813); [`mount`]: MOUNT version 3 (RFC 1813 appendix I).
//! * [`v4`]: NFSv4.1 and 4.2 (RFC 8881, RFC 7862, RFC 7863, RFC 8276).
//!
//! The types know lengths and numbers. What a name, an owner or a time may be is decided above.
#![forbid(unsafe_code)]

pub mod mount;
mod status;
pub mod v3;
pub mod v4;

/// Number of the NFS program.
pub const PROGRAM: u32 = 100_003;
/// Port of NFS servers.
pub const PORT: u16 = 2049;
