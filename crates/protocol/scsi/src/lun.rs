//! Logical unit numbers, SAM-5 §4.7: the 8-byte LUN field. Single-level LUNs only. Encoded with
//! peripheral device addressing (method 00b) up to 255 and flat space addressing (01b) above;
//! decoded from every format. Hosts before ESXi 6.7 support method 00b only.

/// Byte 0 of extended flat space addressing: method 11b, 3 bytes, extended method 2h (SAM-5 §4.7.7.5.4).
const EXTENDED_FLAT: u8 = 0xd2;
/// Byte 0 of long extended flat space addressing: method 11b, 5 bytes, extended method 2h (SAM-5 §4.7.7.5.5).
const LONG_EXTENDED_FLAT: u8 = 0xe2;

/// Single-level logical unit number, 0 to 16 383.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalUnitNumber(pub u16);

impl LogicalUnitNumber {
    /// Largest number in flat space addressing.
    pub const MAX: u16 = 0x3fff;

    /// Decodes a LUN field. A number names the same logical unit in every format that can carry it
    /// (SAM-5 §4.7.5): peripheral device addressing of bus 0, flat space addressing, extended flat
    /// space addressing and its long form.
    ///
    /// `None` for numbers above [`Self::MAX`], for the second level of a hierarchy, and for other
    /// buses and well known logical units, which do not exist here.
    pub fn decode(field: [u8; 8]) -> Option<Self> {
        let number = match field {
            [0, number, 0, 0, 0, 0, 0, 0] => u64::from(number),
            [first, second, 0, 0, 0, 0, 0, 0] if first >> 6 == 0b01 => u64::from(first & 0x3f) << 8 | u64::from(second),
            [EXTENDED_FLAT, a, b, c, 0, 0, 0, 0] => u64::from(u32::from_be_bytes([0, a, b, c])),
            [LONG_EXTENDED_FLAT, a, b, c, d, e, 0, 0] => u64::from_be_bytes([0, 0, 0, a, b, c, d, e]),
            _ => return None,
        };
        u16::try_from(number).ok().filter(|number| *number <= Self::MAX).map(Self)
    }

    /// Encodes the LUN field, with method 00b where possible. A number above [`Self::MAX`] loses
    /// its upper bits.
    pub fn encode(self) -> [u8; 8] {
        let [high, low] = self.0.to_be_bytes();
        let method = if self.0 < 256 { 0 } else { 0x40 };
        [method | (high & 0x3f), low, 0, 0, 0, 0, 0, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_use_peripheral_addressing() {
        assert_eq!(LogicalUnitNumber(200).encode(), [0, 200, 0, 0, 0, 0, 0, 0]);
        assert_eq!(LogicalUnitNumber::decode([0, 200, 0, 0, 0, 0, 0, 0]), Some(LogicalUnitNumber(200)));
    }

    #[test]
    fn large_numbers_use_flat_addressing() {
        assert_eq!(LogicalUnitNumber(0x1234).encode(), [0x52, 0x34, 0, 0, 0, 0, 0, 0]);
        assert_eq!(LogicalUnitNumber::decode([0x52, 0x34, 0, 0, 0, 0, 0, 0]), Some(LogicalUnitNumber(0x1234)));
    }

    #[test]
    fn every_format_of_a_number_names_the_same_unit() {
        for field in [
            [0, 7, 0, 0, 0, 0, 0, 0],
            [0x40, 7, 0, 0, 0, 0, 0, 0],
            [0xd2, 0, 0, 7, 0, 0, 0, 0],
            [0xe2, 0, 0, 0, 0, 7, 0, 0],
        ] {
            assert_eq!(LogicalUnitNumber::decode(field), Some(LogicalUnitNumber(7)), "{field:02x?}");
        }
        assert_eq!(LogicalUnitNumber::decode([0xd2, 0, 0x3f, 0xff, 0, 0, 0, 0]), Some(LogicalUnitNumber(0x3fff)));
        assert_eq!(LogicalUnitNumber::decode([0xd2, 0, 0x40, 0, 0, 0, 0, 0]), None);
        assert_eq!(LogicalUnitNumber::decode([0xe2, 1, 0, 0, 0, 7, 0, 0]), None);
        for number in [0, 1, 255, 256, 4095, LogicalUnitNumber::MAX] {
            let number = LogicalUnitNumber(number);
            assert_eq!(LogicalUnitNumber::decode(number.encode()), Some(number));
        }
    }

    #[test]
    fn other_forms_name_nothing() {
        assert_eq!(LogicalUnitNumber::decode([0xc1, 1, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(LogicalUnitNumber::decode([0, 1, 0, 1, 0, 0, 0, 0]), None);
        assert_eq!(LogicalUnitNumber::decode([1, 1, 0, 0, 0, 0, 0, 0]), None);
    }
}
