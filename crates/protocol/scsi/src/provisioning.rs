//! UNMAP parameter list (SBC-3 §5.28) and GET LBA STATUS parameter data (SBC-3 §5.4).

use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Start of an UNMAP parameter list. 8 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct UnmapParameterListHeader {
    /// Bytes that follow this field.
    pub data_length: U16,
    /// Bytes of block descriptors; bytes beyond a multiple of 16 are ignored.
    pub block_descriptor_data_length: U16,
    reserved: [u8; 4],
}
const _: () = assert!(size_of::<UnmapParameterListHeader>() == 8);

/// One range of an UNMAP parameter list. 16 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct UnmapBlockDescriptor {
    /// First logical block.
    pub lba: U64,
    /// Logical blocks; 0 is valid and unmaps nothing.
    pub block_count: U32,
    reserved: [u8; 4],
}
const _: () = assert!(size_of::<UnmapBlockDescriptor>() == 16);

/// Start of GET LBA STATUS parameter data. 8 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct LbaStatusHeader {
    /// Bytes that follow this field.
    pub parameter_data_length: U32,
    reserved: [u8; 4],
}
const _: () = assert!(size_of::<LbaStatusHeader>() == 8);

/// One run of GET LBA STATUS parameter data. 16 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct LbaStatusDescriptor {
    /// First logical block of the run.
    pub lba: U64,
    /// Logical blocks in the run.
    pub block_count: U32,
    /// PROVISIONING STATUS (bits 3-0).
    pub status: u8,
    reserved: [u8; 3],
}
const _: () = assert!(size_of::<LbaStatusDescriptor>() == 16);

/// PROVISIONING STATUS: mapped.
pub const MAPPED: u8 = 0;
/// PROVISIONING STATUS: deallocated.
pub const DEALLOCATED: u8 = 1;

impl LbaStatusDescriptor {
    /// Creates a run with its status.
    pub fn new(lba: u64, block_count: u32, status: u8) -> Self {
        Self { lba: U64::new(lba), block_count: U32::new(block_count), status, reserved: [0; 3] }
    }
}

/// GET LBA STATUS parameter data with `descriptors`.
pub fn lba_status_data(descriptors: &[LbaStatusDescriptor]) -> Vec<u8> {
    let descriptor_bytes = descriptors.as_bytes();
    let length = u32::try_from(descriptor_bytes.len().saturating_add(4)).unwrap_or(u32::MAX);
    let header = LbaStatusHeader { parameter_data_length: U32::new(length), reserved: [0; 4] };
    [header.as_bytes(), descriptor_bytes].concat()
}

/// UNMAP parameter list of `ranges` (first block, number of blocks); for initiators and tests. At
/// most 4 095 ranges are encoded.
pub fn unmap_parameter_list(ranges: &[(u64, u32)]) -> Vec<u8> {
    let ranges = ranges.get(..ranges.len().min(4095)).unwrap_or_default();
    let descriptors: Vec<UnmapBlockDescriptor> = ranges
        .iter()
        .map(|(lba, count)| UnmapBlockDescriptor {
            lba: U64::new(*lba),
            block_count: U32::new(*count),
            reserved: [0; 4],
        })
        .collect();
    let bytes = descriptors.as_bytes();
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    let header = UnmapParameterListHeader {
        data_length: U16::new(length.saturating_add(6)),
        block_descriptor_data_length: U16::new(length),
        reserved: [0; 4],
    };
    [header.as_bytes(), bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn unmap_list_has_its_lengths() {
        assert_eq!(unmap_parameter_list(&[(0x0102, 8)]), hex!("0016 0010 00000000 0000000000000102 00000008 00000000"));
    }

    #[test]
    fn lba_status_counts_what_follows_the_length() {
        assert_eq!(
            lba_status_data(&[LbaStatusDescriptor::new(7, 9, DEALLOCATED)]),
            hex!("00000014 00000000 0000000000000007 00000009 01 000000")
        );
    }
}
