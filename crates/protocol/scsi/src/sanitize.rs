//! SANITIZE: the parameter list of its OVERWRITE service action, SBC-4 §5.30.2.

use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Byte 1 of the CDB: status is returned before the operation has ended.
pub const IMMED: u8 = 0x80;
/// Byte 1 of the CDB: EXIT FAILURE MODE may clear a failure of the operation.
pub const AUSE: u8 = 0x20;

/// Start of the parameter list; the initialization pattern follows. 4 bytes.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug)]
#[repr(C)]
pub struct OverwriteHeader {
    /// INVERT (bit 7), TEST (bits 6-5), OVERWRITE COUNT (bits 4-0).
    pub flags: u8,
    reserved: u8,
    /// Bytes of the initialization pattern.
    pub pattern_length: U16,
}
const _: () = assert!(size_of::<OverwriteHeader>() == 4);

/// Parameters of an overwrite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overwrite {
    /// Write passes, 1 to 31.
    pub count: u8,
    /// Inverts the pattern from pass to pass; the last pass writes it unchanged.
    pub invert: bool,
    /// Pattern, repeated in each logical block from its first byte on; 1 byte to one logical block.
    pub pattern: Vec<u8>,
}

/// Defect of a parameter list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverwriteFault {
    /// A value is not permitted, at this byte of the list.
    Field(u16),
    /// The list ends before its pattern does.
    Length {
        /// Bytes of the complete list.
        needed_bytes: u64,
    },
}

impl Overwrite {
    /// Bytes of the shortest parameter list.
    pub const MIN_BYTES: usize = size_of::<OverwriteHeader>() + 1;

    /// Bytes of the longest parameter list.
    pub const fn max_bytes(logical_block_bytes: usize) -> usize {
        size_of::<OverwriteHeader>() + logical_block_bytes
    }

    /// Parses a parameter list.
    pub fn parse(list: &[u8], logical_block_bytes: usize) -> Result<Self, OverwriteFault> {
        let Ok((header, rest)) = OverwriteHeader::read_from_prefix(list) else {
            return Err(OverwriteFault::Length { needed_bytes: Self::MIN_BYTES as u64 });
        };
        let (count, invert) = (header.flags & 0x1f, header.flags & 0x80 != 0);
        let length = usize::from(header.pattern_length.get());
        if count == 0 || header.flags & 0x60 != 0 {
            return Err(OverwriteFault::Field(0));
        }
        if header.reserved != 0 {
            return Err(OverwriteFault::Field(1));
        }
        if length == 0 || length > logical_block_bytes {
            return Err(OverwriteFault::Field(2));
        }
        let needed_bytes = (size_of::<OverwriteHeader>() + length) as u64;
        let pattern = rest.get(..length).ok_or(OverwriteFault::Length { needed_bytes })?.to_vec();
        Ok(Self { count, invert, pattern })
    }

    /// Encodes the parameter list, for initiators and tests.
    pub fn encode(&self) -> Vec<u8> {
        let flags = if self.invert { 0x80 } else { 0 } | (self.count & 0x1f);
        let length = u16::try_from(self.pattern.len()).unwrap_or(u16::MAX);
        let header = OverwriteHeader { flags, reserved: 0, pattern_length: U16::new(length) };
        [header.as_bytes(), &self.pattern].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    #[test]
    fn a_parameter_list_has_its_bytes() {
        let overwrite = Overwrite { count: 3, invert: true, pattern: vec![0xde, 0xad] };
        assert_eq!(overwrite.encode(), hex!("83 00 0002 dead"));
        assert_eq!(Overwrite::parse(&hex!("83 00 0002 dead 00"), 512), Ok(overwrite));
        for (list, fault) in [
            (&hex!("00 00 0001 aa")[..], OverwriteFault::Field(0)),
            (&hex!("21 00 0001 aa"), OverwriteFault::Field(0)),
            (&hex!("01 01 0001 aa"), OverwriteFault::Field(1)),
            (&hex!("01 00 0000 aa"), OverwriteFault::Field(2)),
            (&hex!("01 00 0201 aa"), OverwriteFault::Field(2)),
            (&hex!("01 00 0004 aa"), OverwriteFault::Length { needed_bytes: 8 }),
            (&hex!("01 00"), OverwriteFault::Length { needed_bytes: 5 }),
        ] {
            assert_eq!(Overwrite::parse(list, 512), Err(fault), "{list:02x?}");
        }
    }
}
