//! Log pages of LOG SENSE: SPC-4 §7.3, SBC-3 §6.4.

use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Page code: supported log pages, SPC-4 §7.3.22.
pub const SUPPORTED_PAGES: u8 = 0x00;
/// Page code: logical block provisioning, SBC-3 §6.4.5.
pub const LOGICAL_BLOCK_PROVISIONING: u8 = 0x0c;
/// Page code: informational exceptions, SPC-4 §7.3.10.
pub const INFORMATIONAL_EXCEPTIONS: u8 = 0x2f;
/// Subpage code: supported log pages and subpages, SPC-4 §7.3.23.
pub const SUPPORTED_SUBPAGES: u8 = 0xff;

/// Parameter of the logical block provisioning page: resources that are available.
pub const AVAILABLE_LBA_MAPPING_RESOURCES: u16 = 0x0001;
/// Parameter of the logical block provisioning page: resources that are in use.
pub const USED_LBA_MAPPING_RESOURCES: u16 = 0x0002;

/// SCOPE of a resource count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Scope {
    /// Resources of this logical unit only.
    Dedicated = 0b01,
    /// Resources that other logical units may use as well.
    Shared = 0b10,
}

/// A resource count log parameter, SBC-3 §6.4.5.2. 12 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct ResourceCount {
    /// PARAMETER CODE.
    pub parameter_code: U16,
    /// FORMAT AND LINKING 11b: binary list.
    control: u8,
    /// Bytes that follow.
    length: u8,
    /// Threshold sets, each of 2^THRESHOLD EXPONENT logical blocks (VPD page B2h).
    pub count: U32,
    /// SCOPE (bits 1-0).
    pub scope: u8,
    reserved: [u8; 3],
}
const _: () = assert!(size_of::<ResourceCount>() == 12);

const BINARY_LIST: u8 = 0x03;

impl ResourceCount {
    /// Creates a resource count parameter.
    pub fn new(parameter_code: u16, count: u32, scope: Scope) -> Self {
        Self {
            parameter_code: U16::new(parameter_code),
            control: BINARY_LIST,
            length: 8,
            count: U32::new(count),
            scope: scope as u8,
            reserved: [0; 3],
        }
    }
}

/// Only parameter of the informational exceptions page: no exception, no temperature.
pub const NO_INFORMATIONAL_EXCEPTION: [u8; 8] = [0, 0, BINARY_LIST, 4, 0, 0, 0xff, 0];

/// Log page with parameters, SPC-4 §7.3.2.
pub fn page(page_code: u8, parameters: &[u8]) -> Vec<u8> {
    header(page_code, 0, parameters)
}

/// Log page with a subpage code, SPC-4 §7.3.2: SPF is set.
pub fn subpage(page_code: u8, subpage_code: u8, payload: &[u8]) -> Vec<u8> {
    const SPF: u8 = 0x40;
    header(page_code | SPF, subpage_code, payload)
}

fn header(page_code: u8, subpage_code: u8, payload: &[u8]) -> Vec<u8> {
    let payload = payload.get(..payload.len().min(usize::from(u16::MAX))).unwrap_or_default();
    let mut page = vec![page_code, subpage_code];
    page.extend_from_slice(&u16::try_from(payload.len()).unwrap_or(u16::MAX).to_be_bytes());
    page.extend_from_slice(payload);
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn a_count_has_its_bytes() {
        let count = ResourceCount::new(USED_LBA_MAPPING_RESOURCES, 0x0102, Scope::Dedicated);
        assert_eq!(count.as_bytes(), hex!("0002 03 08 00000102 01 000000"));
        assert_eq!(page(LOGICAL_BLOCK_PROVISIONING, count.as_bytes())[..4], hex!("0c 00 000c"));
        assert_eq!(subpage(0, SUPPORTED_SUBPAGES, &[0, 0]), hex!("40 ff 0002 0000"));
    }
}
