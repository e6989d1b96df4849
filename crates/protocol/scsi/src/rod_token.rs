//! ROD tokens: POPULATE TOKEN, WRITE USING TOKEN (SBC-4 §5.10, §5.47) and RECEIVE ROD TOKEN
//! INFORMATION, REPORT ALL ROD TOKENS (SPC-4 §6.23 to §6.25); the token itself is SPC-4 §5.16.6. A
//! ROD is a representation of data; a ROD token names a ROD. Windows calls the whole operation
//! offloaded data transfer (ODX).

use crate::third_party_copy::IdentificationCscd;
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a ROD token in all commands of block devices.
pub const TOKEN_BYTES: usize = 512;
/// Bytes of a token in REPORT ALL ROD TOKENS.
pub const MANAGEMENT_TOKEN_BYTES: usize = 96;
/// ROD TOKEN LENGTH of a token of [`TOKEN_BYTES`].
pub const TOKEN_LENGTH: u16 = 0x01f8;

/// ROD TYPE, SPC-4 table "ROD types".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RodType(pub u32);

impl RodType {
    /// Data as it was when the ROD was created.
    pub const POINT_IN_TIME: Self = Self(0x0080_0000);
    /// Blocks of zeros. The token is well known; no copy manager creates it (SBC-4 §4.30.3).
    pub const BLOCK_ZERO: Self = Self(0xffff_0001);
}

/// Start of a POPULATE TOKEN parameter list. 16 bytes; block ranges follow.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct PopulateTokenHeader {
    /// POPULATE TOKEN DATA LENGTH: bytes that follow this field.
    pub data_length: U16,
    /// RTV (bit 1), IMMED (bit 0).
    pub flags: u8,
    reserved: u8,
    /// INACTIVITY TIMEOUT in seconds; 0 for the default.
    pub inactivity_timeout: U32,
    /// ROD TYPE; valid with RTV.
    pub rod_type: U32,
    reserved_2: [u8; 2],
    /// BLOCK DEVICE RANGE DESCRIPTOR LENGTH in bytes.
    pub range_length: U16,
}
const _: () = assert!(size_of::<PopulateTokenHeader>() == 16);

/// Start of a WRITE USING TOKEN parameter list. 536 bytes; block ranges follow.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct WriteUsingTokenHeader {
    /// WRITE USING TOKEN DATA LENGTH: bytes that follow this field.
    pub data_length: U16,
    /// DEL_TKN (bit 1), IMMED (bit 0).
    pub flags: u8,
    reserved: [u8; 5],
    /// OFFSET INTO ROD in logical blocks.
    pub offset_into_rod: U64,
    /// ROD TOKEN.
    pub token: [u8; TOKEN_BYTES],
    reserved_2: [u8; 6],
    /// BLOCK DEVICE RANGE DESCRIPTOR LENGTH in bytes.
    pub range_length: U16,
}
const _: () = assert!(size_of::<WriteUsingTokenHeader>() == 536);

/// RTV of POPULATE TOKEN: ROD TYPE is valid.
pub const RTV: u8 = 0x02;
/// DEL_TKN of WRITE USING TOKEN: the token is deleted afterwards.
pub const DEL_TKN: u8 = 0x02;
/// IMMED of both commands: status is returned when the list has been checked.
pub const IMMED: u8 = 0x01;

/// Block device range descriptor. 16 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct BlockRange {
    /// First logical block.
    pub lba: U64,
    /// Logical blocks; 0 means no block.
    pub block_count: U32,
    reserved: [u8; 4],
}
const _: () = assert!(size_of::<BlockRange>() == 16);

impl BlockRange {
    /// Creates a range; for initiators and tests.
    pub const fn new(lba: u64, block_count: u32) -> Self {
        Self { lba: U64::new(lba), block_count: U32::new(block_count), reserved: [0; 4] }
    }
}

/// POPULATE TOKEN parameter list; for initiators and tests.
pub fn populate_token_list(flags: u8, inactivity_timeout: u32, rod_type: RodType, ranges: &[BlockRange]) -> Vec<u8> {
    let range_bytes = ranges.as_bytes();
    let length = |extra: usize| U16::new(u16::try_from(range_bytes.len() + extra).unwrap_or(u16::MAX));
    let header = PopulateTokenHeader {
        data_length: length(14),
        flags,
        reserved: 0,
        inactivity_timeout: U32::new(inactivity_timeout),
        rod_type: U32::new(rod_type.0),
        reserved_2: [0; 2],
        range_length: length(0),
    };
    [header.as_bytes(), range_bytes].concat()
}

/// WRITE USING TOKEN parameter list; for initiators and tests.
pub fn write_using_token_list(
    flags: u8,
    offset_into_rod: u64,
    token: &[u8; TOKEN_BYTES],
    ranges: &[BlockRange],
) -> Vec<u8> {
    let range_bytes = ranges.as_bytes();
    let length = |extra: usize| U16::new(u16::try_from(range_bytes.len() + extra).unwrap_or(u16::MAX));
    let header = WriteUsingTokenHeader {
        data_length: length(534),
        flags,
        reserved: [0; 5],
        offset_into_rod: U64::new(offset_into_rod),
        token: *token,
        reserved_2: [0; 6],
        range_length: length(0),
    };
    [header.as_bytes(), range_bytes].concat()
}

/// ROD token of this copy manager. The last 32 bytes prove that it created the other bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
pub struct RodToken {
    /// ROD TYPE.
    pub rod_type: U32,
    reserved: [u8; 2],
    /// ROD TOKEN LENGTH: bytes that follow this field, [`TOKEN_LENGTH`].
    pub length: U16,
    /// COPY MANAGER ROD TOKEN IDENTIFIER, high half: run of the copy manager that created the
    /// token.
    pub run: U32,
    /// COPY MANAGER ROD TOKEN IDENTIFIER, low half: number of the token within the run.
    pub serial: U32,
    /// CREATOR LOGICAL UNIT DESCRIPTOR.
    pub creator: IdentificationCscd,
    /// NUMBER OF BYTES REPRESENTED, high half.
    pub bytes_high: U64,
    /// NUMBER OF BYTES REPRESENTED, low half.
    pub bytes: U64,
    /// ROD TOKEN SPECIFIC DATA, zeros.
    specific: [u8; 32],
    /// DEVICE TYPE SPECIFIC DATA of a block device: its block length in bytes, then zeros.
    pub block_length: U32,
    reserved_2: [u8; 28],
    extended: [u8; 352],
    /// Authenticator of all bytes before it.
    pub authenticator: [u8; 32],
}
const _: () = assert!(size_of::<RodToken>() == TOKEN_BYTES);

impl RodToken {
    /// Creates a token for blocks of 512 bytes, without authenticator.
    pub fn point_in_time(run: u32, serial: u32, naa: &[u8; 16], bytes: u64) -> Self {
        Self {
            rod_type: U32::new(RodType::POINT_IN_TIME.0),
            reserved: [0; 2],
            length: U16::new(TOKEN_LENGTH),
            run: U32::new(run),
            serial: U32::new(serial),
            creator: IdentificationCscd::naa(naa),
            bytes_high: U64::new(0),
            bytes: U64::new(bytes),
            specific: [0; 32],
            block_length: U32::new(512),
            reserved_2: [0; 28],
            extended: [0; 352],
            authenticator: [0; 32],
        }
    }

    /// Bytes that the authenticator covers.
    pub fn authenticated(&self) -> &[u8] {
        self.as_bytes().get(..TOKEN_BYTES - 32).unwrap_or_default()
    }

    /// Encodes the token for a parameter list.
    pub fn encode(&self) -> [u8; TOKEN_BYTES] {
        zerocopy::transmute!(*self)
    }

    /// Decodes the token of a parameter list.
    pub fn decode(bytes: &[u8; TOKEN_BYTES]) -> Self {
        zerocopy::transmute!(*bytes)
    }
}

/// Well-known block device zero token (SBC-4 §4.30.3).
pub const fn zero_token() -> [u8; TOKEN_BYTES] {
    let mut token = [0; TOKEN_BYTES];
    (token[0], token[1], token[3]) = (0xff, 0xff, 0x01);
    (token[6], token[7]) = (0x01, 0xf8);
    token
}

/// Bytes after the sense data in RECEIVE ROD TOKEN INFORMATION: the length of the descriptors, and
/// one descriptor with the token, if any.
pub fn token_descriptors(token: Option<&[u8; TOKEN_BYTES]>) -> Vec<u8> {
    match token {
        None => vec![0; 4],
        Some(token) => [&0x202u32.to_be_bytes()[..], &[0, 0], token].concat(),
    }
}

/// REPORT ALL ROD TOKENS parameter data: the first 96 bytes of each token.
pub fn all_tokens<'a>(tokens: impl Iterator<Item = &'a [u8; TOKEN_BYTES]>) -> Vec<u8> {
    let mut data = vec![0; 8];
    for token in tokens {
        data.extend_from_slice(token.get(..MANAGEMENT_TOKEN_BYTES).unwrap_or_default());
    }
    let available = u32::try_from(data.len() - 4).unwrap_or(u32::MAX);
    data.splice(..4, available.to_be_bytes());
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn parameter_lists_have_their_bytes() {
        let ranges = [BlockRange::new(0x10, 8), BlockRange::new(0x20, 9)];
        let list = populate_token_list(RTV, 60, RodType::POINT_IN_TIME, &ranges);
        let expected = hex!(
            "002e 02 00 0000003c 00800000 0000 0020 0000000000000010 00000008 00000000 0000000000000020 00000009 00000000"
        );
        assert_eq!(list, expected);
        let list = write_using_token_list(DEL_TKN | IMMED, 5, &zero_token(), &ranges[..1]);
        assert_eq!(list.len(), 552);
        assert_eq!(list[..24], hex!("0226 03 0000000000 0000000000000005 ffff0001 0000 01f8"));
        assert_eq!(list[528..], hex!("000000000000 0010 0000000000000010 00000008 00000000"));
    }

    #[test]
    fn a_token_has_its_fields_in_their_places() {
        let token = RodToken::point_in_time(1, 2, &[0x60; 16], 0x1000);
        let bytes = token.encode();
        assert_eq!(bytes[..16], hex!("00800000 0000 01f8 00000001 00000002"));
        assert_eq!(bytes[16..24], hex!("e4000000 01 03 00 10"));
        assert_eq!(bytes[48..64], hex!("0000000000000000 0000000000001000"));
        assert_eq!(bytes[96..100], hex!("00000200"));
        assert_eq!(RodToken::decode(&bytes).encode(), bytes);
        assert_eq!(token.authenticated().len(), 480);
        assert_eq!(token_descriptors(None), [0; 4]);
        let descriptors = token_descriptors(Some(&bytes));
        assert_eq!((descriptors.len(), &descriptors[..6]), (518, &hex!("00000202 0000")[..]));
        assert_eq!(all_tokens([&bytes].into_iter())[..12], hex!("00000064 00000000 00800000"));
    }
}
