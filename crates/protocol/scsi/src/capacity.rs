//! READ CAPACITY parameter data, SBC-3 §5.15 and §5.16.

use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// READ CAPACITY (10) parameter data. 8 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ReadCapacity10 {
    /// Last LBA, or FFFFFFFFh when it does not fit.
    pub last_lba: U32,
    /// Bytes in a logical block.
    pub block_length: U32,
}
const _: () = assert!(size_of::<ReadCapacity10>() == 8);

/// READ CAPACITY (16) parameter data. 32 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ReadCapacity16 {
    /// Last LBA.
    pub last_lba: U64,
    /// Bytes in a logical block.
    pub block_length: U32,
    /// P_TYPE (bits 3-1), PROT_EN (bit 0).
    pub protection: u8,
    /// P_I_EXPONENT (bits 7-4), LOGICAL BLOCKS PER PHYSICAL BLOCK EXPONENT (bits 3-0).
    pub exponents: u8,
    /// LBPME (bit 7), LBPRZ (bit 6), LOWEST ALIGNED LBA (bits 5-0).
    pub provisioning: u8,
    /// LOWEST ALIGNED LBA, low byte.
    pub lowest_aligned: u8,
    reserved: [u8; 16],
}
const _: () = assert!(size_of::<ReadCapacity16>() == 32);

/// LBPME: logical block provisioning management is enabled.
pub const LBPME: u8 = 0x80;
/// LBPRZ: deallocated blocks read as zeros.
pub const LBPRZ: u8 = 0x40;
