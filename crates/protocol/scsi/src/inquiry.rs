//! Standard INQUIRY data and vital product data pages: SPC-4 §6.6 and §7.8, SBC-3 §6.6.

use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Page code: supported VPD pages.
pub const SUPPORTED_PAGES: u8 = 0x00;
/// Page code: unit serial number.
pub const UNIT_SERIAL_NUMBER: u8 = 0x80;
/// Page code: device identification.
pub const DEVICE_IDENTIFICATION: u8 = 0x83;
/// Page code: extended INQUIRY data.
pub const EXTENDED_INQUIRY: u8 = 0x86;
/// Page code: third-party copy.
pub const THIRD_PARTY_COPY: u8 = 0x8f;
/// Page code: block limits.
pub const BLOCK_LIMITS: u8 = 0xb0;
/// Page code: block device characteristics.
pub const BLOCK_DEVICE_CHARACTERISTICS: u8 = 0xb1;
/// Page code: logical block provisioning.
pub const LOGICAL_BLOCK_PROVISIONING: u8 = 0xb2;

/// Peripheral qualifier 011b with device type 1Fh: no logical unit at this LUN.
pub const NO_LOGICAL_UNIT: u8 = 0x7f;

/// Standard INQUIRY data with eight version descriptors. 96 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct StandardInquiry {
    /// PERIPHERAL QUALIFIER (bits 7-5), PERIPHERAL DEVICE TYPE (bits 4-0).
    pub peripheral: u8,
    /// RMB (bit 7).
    pub removable: u8,
    /// 06h: SPC-4.
    pub version: u8,
    /// NORMACA (bit 5), HISUP (bit 4), RESPONSE DATA FORMAT (bits 3-0).
    pub format: u8,
    /// Bytes that follow this field, independent of the allocation length.
    pub additional_length: u8,
    /// TPGS (bits 5-4), 3PC (bit 3), PROTECT (bit 0).
    pub flags5: u8,
    /// MULTIP (bit 4).
    pub flags6: u8,
    /// CMDQUE (bit 1).
    pub flags7: u8,
    /// T10 VENDOR IDENTIFICATION, space padded.
    pub vendor: [u8; 8],
    /// PRODUCT IDENTIFICATION, space padded.
    pub product: [u8; 16],
    /// PRODUCT REVISION LEVEL, space padded.
    pub revision: [u8; 4],
    vendor_specific: [u8; 20],
    reserved56: [u8; 2],
    /// VERSION DESCRIPTORS.
    pub version_descriptors: [U16; 8],
    reserved74: [u8; 22],
}
const _: () = assert!(size_of::<StandardInquiry>() == 96);

impl StandardInquiry {
    /// Zeros except ADDITIONAL LENGTH and RESPONSE DATA FORMAT.
    pub fn empty() -> Self {
        let mut data = Self::new_zeroed();
        data.format = 0x02;
        data.additional_length = 0x5b;
        data
    }
}

/// Block limits VPD page. 64 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct BlockLimitsPage {
    /// Peripheral qualifier and device type.
    pub peripheral: u8,
    page_code: u8,
    page_length: U16,
    /// WSNZ (bit 0).
    pub wsnz: u8,
    /// MAXIMUM COMPARE AND WRITE LENGTH, blocks.
    pub maximum_compare_and_write_length: u8,
    /// OPTIMAL TRANSFER LENGTH GRANULARITY, blocks.
    pub optimal_transfer_length_granularity: U16,
    /// MAXIMUM TRANSFER LENGTH, blocks.
    pub maximum_transfer_length: U32,
    /// OPTIMAL TRANSFER LENGTH, blocks.
    pub optimal_transfer_length: U32,
    /// MAXIMUM PREFETCH LENGTH, blocks.
    pub maximum_prefetch_length: U32,
    /// MAXIMUM UNMAP LBA COUNT, blocks.
    pub maximum_unmap_lba_count: U32,
    /// MAXIMUM UNMAP BLOCK DESCRIPTOR COUNT.
    pub maximum_unmap_block_descriptor_count: U32,
    /// OPTIMAL UNMAP GRANULARITY, blocks.
    pub optimal_unmap_granularity: U32,
    /// UGAVALID (bit 31), UNMAP GRANULARITY ALIGNMENT.
    pub unmap_granularity_alignment: U32,
    /// MAXIMUM WRITE SAME LENGTH, blocks.
    pub maximum_write_same_length: U64,
    /// MAXIMUM ATOMIC TRANSFER LENGTH, blocks.
    pub maximum_atomic_transfer_length: U32,
    /// ATOMIC ALIGNMENT, blocks; 0: none required.
    pub atomic_alignment: U32,
    /// ATOMIC TRANSFER LENGTH GRANULARITY, blocks; 0: any length.
    pub atomic_transfer_length_granularity: U32,
    /// MAXIMUM ATOMIC TRANSFER LENGTH WITH ATOMIC BOUNDARY, blocks; 0: boundaries are not
    /// supported.
    pub maximum_atomic_transfer_length_with_boundary: U32,
    /// MAXIMUM ATOMIC BOUNDARY SIZE, blocks.
    pub maximum_atomic_boundary_size: U32,
}
const _: () = assert!(size_of::<BlockLimitsPage>() == 64);

impl BlockLimitsPage {
    /// Zeros except the header.
    pub fn empty() -> Self {
        let mut page = Self::new_zeroed();
        page.page_code = BLOCK_LIMITS;
        page.page_length = U16::new(0x3c);
        page
    }
}

fn page(page_code: u8, payload: &[u8]) -> Vec<u8> {
    let payload = payload.get(..payload.len().min(usize::from(u16::MAX))).unwrap_or_default();
    let mut page = vec![0, page_code];
    page.extend_from_slice(&u16::try_from(payload.len()).unwrap_or(u16::MAX).to_be_bytes());
    page.extend_from_slice(payload);
    page
}

/// Supported VPD pages; `pages` in ascending order.
pub fn supported_pages(pages: &[u8]) -> Vec<u8> {
    page(SUPPORTED_PAGES, pages)
}

/// Unit serial number page.
pub fn unit_serial_number(serial: &str) -> Vec<u8> {
    page(UNIT_SERIAL_NUMBER, serial.as_bytes())
}

/// Device identification page of descriptors from [`designator`].
pub fn device_identification(designators: &[Vec<u8>]) -> Vec<u8> {
    page(DEVICE_IDENTIFICATION, &designators.concat())
}

/// Extended INQUIRY data page: HEADSUP, ORDSUP, SIMPSUP, LUICLR; V_SUP for a volatile write cache.
/// 64 bytes.
pub fn extended_inquiry(volatile_cache: bool) -> Vec<u8> {
    let mut payload = [0; 0x3c];
    let [_, simple, volatile, clear, ..] = &mut payload;
    *simple = 0x07;
    *volatile = u8::from(volatile_cache);
    *clear = 0x01;
    page(EXTENDED_INQUIRY, &payload)
}

/// Block device characteristics page: non-rotating medium; WABEREQ = 01b, so that block-erased data
/// is read without an error (as zeros); WACEREQ = 00b, because there is no cryptographic erase. 64
/// bytes.
pub fn block_device_characteristics() -> Vec<u8> {
    let mut payload = [0; 0x3c];
    let [_, rotation_rate, _, after_sanitize, ..] = &mut payload;
    *rotation_rate = 0x01;
    *after_sanitize = 0x40;
    page(BLOCK_DEVICE_CHARACTERISTICS, &payload)
}

/// THRESHOLD EXPONENT of VPD page B2h: a threshold set is 2^11 logical blocks, 1 MiB.
pub const THRESHOLD_EXPONENT: u8 = 11;

/// Logical block provisioning page of a thin unit: LBPU, LBPWS, LBPWS10, LBPRZ = 001b, thresholds in sets of
/// [`THRESHOLD_EXPONENT`]. 8 bytes.
pub fn logical_block_provisioning() -> Vec<u8> {
    page(LOGICAL_BLOCK_PROVISIONING, &[THRESHOLD_EXPONENT, 0xe4, 0x02, 0x00])
}

/// Third-party copy page of descriptors from [`third_party_copy_descriptor`].
pub fn third_party_copy(descriptors: &[Vec<u8>]) -> Vec<u8> {
    page(THIRD_PARTY_COPY, &descriptors.concat())
}

/// Third-party copy descriptor, SPC-4 §7.8.17: type, length, payload padded to a multiple of four
/// bytes.
pub fn third_party_copy_descriptor(descriptor_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut descriptor = descriptor_type.to_be_bytes().to_vec();
    let padded = payload.len().next_multiple_of(4);
    descriptor.extend_from_slice(&u16::try_from(padded).unwrap_or(u16::MAX).to_be_bytes());
    descriptor.extend_from_slice(payload);
    descriptor.resize(4 + padded, 0);
    descriptor
}

/// CODE SET of a designator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeSet(pub u8);

impl CodeSet {
    /// Binary.
    pub const BINARY: Self = Self(1);
    /// ASCII.
    pub const ASCII: Self = Self(2);
    /// UTF-8.
    pub const UTF_8: Self = Self(3);
}

/// ASSOCIATION of a designator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Association(pub u8);

impl Association {
    /// The logical unit.
    pub const LOGICAL_UNIT: Self = Self(0);
    /// The target port.
    pub const TARGET_PORT: Self = Self(1);
    /// The target device.
    pub const TARGET_DEVICE: Self = Self(2);
}

/// DESIGNATOR TYPE of a designator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DesignatorType(pub u8);

impl DesignatorType {
    /// T10 vendor identification.
    pub const T10_VENDOR_ID: Self = Self(1);
    /// NAA.
    pub const NAA: Self = Self(3);
    /// Relative target port identifier.
    pub const RELATIVE_TARGET_PORT: Self = Self(4);
    /// Target port group.
    pub const TARGET_PORT_GROUP: Self = Self(5);
    /// SCSI name string.
    pub const SCSI_NAME_STRING: Self = Self(8);
}

/// Designation descriptor, SPC-4 §7.8.6.1. A port or device designator names the iSCSI protocol
/// (PIV = 1). `value` is truncated to 255 bytes.
pub fn designator(code_set: CodeSet, association: Association, kind: DesignatorType, value: &[u8]) -> Vec<u8> {
    const PROTOCOL_ISCSI: u8 = 0x50;
    const PIV: u8 = 0x80;
    let value = value.get(..value.len().min(255)).unwrap_or_default();
    let piv = association != Association::LOGICAL_UNIT;
    let mut bytes = vec![
        code_set.0 | if piv { PROTOCOL_ISCSI } else { 0 },
        association.0 << 4 | kind.0 | if piv { PIV } else { 0 },
        0,
        u8::try_from(value.len()).unwrap_or(u8::MAX),
    ];
    bytes.extend_from_slice(value);
    bytes
}

/// A SCSI name string as a designator value: NUL-terminated and padded to a multiple of four bytes.
pub fn scsi_name_string(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Field of `N` bytes with `text`, truncated or padded with spaces. Characters other than printable
/// ASCII become spaces.
pub fn ascii_field<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    for (slot, byte) in field.iter_mut().zip(text.bytes()) {
        if (0x20..0x7f).contains(&byte) {
            *slot = byte;
        }
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn block_limits_has_the_sbc_3_length() {
        assert_eq!(BlockLimitsPage::empty().as_bytes().get(..4), Some(&hex!("00 b0 00 3c")[..]));
    }

    #[test]
    fn port_designators_name_their_protocol() {
        assert_eq!(
            designator(CodeSet::BINARY, Association::TARGET_PORT, DesignatorType::RELATIVE_TARGET_PORT, &[0, 0, 0, 1]),
            hex!("51 94 00 04 00 00 00 01")
        );
    }

    #[test]
    fn name_strings_end_with_a_nul_and_are_padded() {
        assert_eq!(scsi_name_string("iqn"), b"iqn\0");
        assert_eq!(scsi_name_string("iqn.").len(), 8);
    }

    #[test]
    fn fixed_pages() {
        assert_eq!(logical_block_provisioning(), hex!("00 b2 00 04 0b e4 02 00"));
        assert_eq!(extended_inquiry(true).get(..8), Some(&hex!("00 86 00 3c 00 07 01 01")[..]));
        assert_eq!(block_device_characteristics().get(..8), Some(&hex!("00 b1 00 3c 00 01 00 40")[..]));
    }

    #[test]
    fn third_party_copy_descriptors_are_padded() {
        assert_eq!(third_party_copy_descriptor(1, &[2, 0x83, 1]), hex!("00 01 00 04 02 83 01 00"));
    }
}
