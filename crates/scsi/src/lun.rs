//! Logical unit numbers, SAM-5 §4.7: the 8-byte LUN field. Single-level LUNs only: peripheral device addressing (method 00b) up to
//! 255, flat space addressing (01b) above. Hosts before ESXi 6.7 understand method 00b only.

/// A single-level logical unit number, 0 to 16 383.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalUnitNumber(pub u16);

impl LogicalUnitNumber {
    /// Largest number that flat space addressing can carry.
    pub const MAX: u16 = 0x3fff;

    /// Reads a LUN field. `None` for multi-level, extended or bus-addressed forms, which name nothing here.
    pub fn decode(field: [u8; 8]) -> Option<Self> {
        let [first, second, rest @ ..] = field;
        if rest != [0; 6] {
            return None;
        }
        match first >> 6 {
            0b00 if first == 0 => Some(Self(u16::from(second))),
            0b01 => Some(Self(u16::from(first & 0x3f) << 8 | u16::from(second))),
            _ => None,
        }
    }

    /// The LUN field, by method 00b where it fits. A number above [`Self::MAX`] loses its upper bits.
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
    fn other_forms_name_nothing() {
        assert_eq!(LogicalUnitNumber::decode([0xc1, 1, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(LogicalUnitNumber::decode([0, 1, 0, 1, 0, 0, 0, 0]), None);
        assert_eq!(LogicalUnitNumber::decode([1, 1, 0, 0, 0, 0, 0, 0]), None);
    }
}
