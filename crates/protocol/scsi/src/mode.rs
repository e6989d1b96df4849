//! Mode parameter headers, block descriptor and pages: SPC-4 §7.5, SBC-3 §6.5.

use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Page code: caching, SBC-3 §6.5.6.
pub const CACHING: u8 = 0x08;
/// Page code: control, SPC-4 §7.5.8.
pub const CONTROL: u8 = 0x0a;
/// Page code: informational exceptions control, SPC-4 §7.5.9.
pub const INFORMATIONAL_EXCEPTIONS_CONTROL: u8 = 0x1c;
/// Subpage code of [`INFORMATIONAL_EXCEPTIONS_CONTROL`]: logical block provisioning, SBC-4 §6.6.9.
pub const LOGICAL_BLOCK_PROVISIONING_SUBPAGE: u8 = 0x02;
/// Page code: every page.
pub const ALL_PAGES: u8 = 0x3f;
/// Subpage code: every subpage.
pub const ALL_SUBPAGES: u8 = 0xff;

/// Byte 0 of a page: it has a subpage code.
pub const SPF: u8 = 0x40;
/// Byte 4 of the logical block provisioning page: a threshold is reported to a single initiator.
pub const SITUA: u8 = 0x01;
/// Byte 2 of the caching page: write cache enable.
pub const WCE: u8 = 0x04;
/// Byte 4 of the control page: software write protect.
pub const SWP: u8 = 0x08;
/// Device-specific parameter: write protected.
pub const DEVICE_SPECIFIC_WP: u8 = 0x80;
/// Device-specific parameter: DPO and FUA are honoured.
pub const DEVICE_SPECIFIC_DPOFUA: u8 = 0x10;

/// PAGE CONTROL field of MODE SENSE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageControl {
    /// Values in force.
    Current,
    /// Mask: ones for bits that MODE SELECT may change.
    Changeable,
    /// Values after a reset.
    Default,
    /// Saved values.
    Saved,
}

impl PageControl {
    /// Decodes bits 7-6 of byte 2 of the CDB.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::Current,
            0b01 => Self::Changeable,
            0b10 => Self::Default,
            _ => Self::Saved,
        }
    }
}

/// Caching mode page. 20 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct CachingPage {
    /// PS, SPF and page code.
    pub page_code: u8,
    /// 12h.
    pub page_length: u8,
    /// WCE (bit 2), RCD (bit 0) and others.
    pub flags: u8,
    rest: [u8; 17],
}
const _: () = assert!(size_of::<CachingPage>() == 20);

impl CachingPage {
    /// Creates the page with its WCE bit.
    pub const fn new(write_cache_enable: bool) -> Self {
        let flags = if write_cache_enable { WCE } else { 0 };
        Self { page_code: CACHING, page_length: 0x12, flags, rest: [0; 17] }
    }
}

/// Control mode page. 12 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct ControlPage {
    /// PS, SPF and page code.
    pub page_code: u8,
    /// 0Ah.
    pub page_length: u8,
    /// TST (bits 7-5), D_SENSE (bit 2).
    pub task_set: u8,
    /// QUEUE ALGORITHM MODIFIER (bits 7-4), QERR (bits 2-1).
    pub queueing: u8,
    /// SWP (bit 3).
    pub protection: u8,
    /// TAS (bit 6).
    pub task_aborted: u8,
    rest: [u8; 6],
}
const _: () = assert!(size_of::<ControlPage>() == 12);

impl ControlPage {
    /// Creates the page with its SWP bit: one task set for all nexuses, fixed-format sense,
    /// unrestricted reordering.
    pub const fn new(software_write_protect: bool) -> Self {
        Self {
            page_code: CONTROL,
            page_length: 0x0a,
            task_set: 0,
            queueing: 0x10,
            protection: if software_write_protect { SWP } else { 0 },
            task_aborted: 0,
            rest: [0; 6],
        }
    }

    /// Mask of changeable bits: SWP only.
    pub const fn changeable() -> Self {
        let mut page = Self::new(true);
        page.queueing = 0;
        page
    }
}

/// Informational exceptions control mode page. 12 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct InformationalExceptionsPage {
    /// PS, SPF and page code.
    pub page_code: u8,
    /// 0Ah.
    pub page_length: u8,
    /// DEXCPT (bit 3) and others.
    pub flags: u8,
    /// MRIE (bits 3-0): 0, no reporting.
    pub method: u8,
    rest: [u8; 8],
}
const _: () = assert!(size_of::<InformationalExceptionsPage>() == 12);

impl InformationalExceptionsPage {
    /// Creates the page: exceptions are not reported.
    pub const fn new() -> Self {
        Self { page_code: INFORMATIONAL_EXCEPTIONS_CONTROL, page_length: 0x0a, flags: 0x08, method: 0, rest: [0; 8] }
    }

    /// Mask of changeable bits: none.
    pub const fn changeable() -> Self {
        let mut page = Self::new();
        page.flags = 0;
        page
    }
}

impl Default for InformationalExceptionsPage {
    fn default() -> Self {
        Self::new()
    }
}

/// Kind of a threshold of the logical block provisioning page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThresholdKind {
    /// Reached when the available resources fall to the count.
    AvailableDecreasing,
    /// Reached when the used resources rise to the count.
    UsedIncreasing,
}

/// Threshold descriptor, SBC-4 §6.6.9.2. 8 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct ThresholdDescriptor {
    /// ENABLED (bit 7), THRESHOLD TYPE (bits 5-3: 000b, a count), THRESHOLD ARMING (bits 2-0).
    pub flags: u8,
    /// THRESHOLD RESOURCE: the parameter code of the logical block provisioning log page.
    pub resource: u8,
    reserved: [u8; 2],
    /// Threshold sets, each of 2^THRESHOLD EXPONENT logical blocks (VPD page B2h).
    pub count: U32,
}
const _: () = assert!(size_of::<ThresholdDescriptor>() == 8);

impl ThresholdDescriptor {
    /// Creates an enabled threshold.
    pub const fn new(kind: ThresholdKind, count: u32) -> Self {
        const ENABLED: u8 = 0x80;
        let (arming, resource) = match kind {
            ThresholdKind::AvailableDecreasing => (0b000, 0x01),
            ThresholdKind::UsedIncreasing => (0b001, 0x02),
        };
        Self { flags: ENABLED | arming, resource, reserved: [0; 2], count: U32::new(count) }
    }
}

/// Byte of the logical block provisioning page where its descriptors begin.
pub const THRESHOLD_DESCRIPTORS_AT: usize = 16;

/// Logical block provisioning mode page, SBC-4 §6.6.9: 16 bytes and the descriptors, at most 8 000 of them.
pub fn logical_block_provisioning_page(single_initiator: bool, descriptors: &[ThresholdDescriptor]) -> Vec<u8> {
    let descriptors = descriptors.get(..descriptors.len().min(8_000)).unwrap_or_default().as_bytes();
    let [high, low] = u16::try_from(descriptors.len() + 12).unwrap_or(u16::MAX).to_be_bytes();
    let subpage = LOGICAL_BLOCK_PROVISIONING_SUBPAGE;
    let mut page = vec![INFORMATIONAL_EXCEPTIONS_CONTROL | SPF, subpage, high, low];
    page.push(if single_initiator { SITUA } else { 0 });
    page.resize(THRESHOLD_DESCRIPTORS_AT, 0);
    page.extend_from_slice(descriptors);
    page
}

/// Short LBA mode parameter block descriptor, SBC-3 §6.5.2.2. 8 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct BlockDescriptor {
    /// Logical blocks, or FFFFFFFFh when the number does not fit.
    pub block_count: U32,
    /// Reserved byte and bytes in a logical block (24 bits).
    pub block_length: U32,
}
const _: () = assert!(size_of::<BlockDescriptor>() == 8);

/// Mode parameter header of the 6-byte commands. 4 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct ModeParameterHeader6 {
    /// Bytes that follow this field.
    pub data_length: u8,
    /// 0.
    pub medium_type: u8,
    /// WP (bit 7), DPOFUA (bit 4).
    pub device_specific: u8,
    /// Bytes of block descriptors.
    pub block_descriptor_length: u8,
}
const _: () = assert!(size_of::<ModeParameterHeader6>() == 4);

/// Mode parameter header of the 10-byte commands. 8 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct ModeParameterHeader10 {
    /// Bytes that follow this field.
    pub data_length: U16,
    /// 0.
    pub medium_type: u8,
    /// WP (bit 7), DPOFUA (bit 4).
    pub device_specific: u8,
    /// LONGLBA (bit 0).
    pub flags: u8,
    reserved: u8,
    /// Bytes of block descriptors.
    pub block_descriptor_length: U16,
}
const _: () = assert!(size_of::<ModeParameterHeader10>() == 8);

impl ModeParameterHeader10 {
    /// Creates a header; `data_length` counts the bytes after its first two.
    pub const fn new(data_length: u16, device_specific: u8, block_descriptor_length: u16) -> Self {
        Self {
            data_length: U16::new(data_length),
            medium_type: 0,
            device_specific,
            flags: 0,
            reserved: 0,
            block_descriptor_length: U16::new(block_descriptor_length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn pages_have_their_bytes() {
        assert_eq!(CachingPage::new(true).as_bytes(), hex!("08 12 04 00 00000000 00000000 00000000 00000000"));
        assert_eq!(ControlPage::new(true).as_bytes(), hex!("0a 0a 00 10 08 00 000000000000"));
        assert_eq!(ControlPage::changeable().as_bytes(), hex!("0a 0a 00 00 08 00 000000000000"));
        assert_eq!(InformationalExceptionsPage::new().as_bytes(), hex!("1c 0a 08 00 0000000000000000"));
    }

    #[test]
    fn threshold_descriptors_follow_the_header() {
        let descriptors = [
            ThresholdDescriptor::new(ThresholdKind::AvailableDecreasing, 0x0102),
            ThresholdDescriptor::new(ThresholdKind::UsedIncreasing, 7),
        ];
        assert_eq!(
            logical_block_provisioning_page(true, &descriptors),
            hex!("5c 02 001c 01 0000000000000000000000 80 01 0000 00000102 81 02 0000 00000007")
        );
    }
}
