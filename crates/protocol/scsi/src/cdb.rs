//! Command descriptor block in the 16-byte field of the transport. Shorter CDBs leave the rest
//! unused.

/// CDB of up to 16 bytes. The accessors take constant offsets below 16 and read big-endian fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cdb(pub [u8; 16]);

impl Cdb {
    /// Byte 0.
    pub const fn opcode(&self) -> u8 {
        self.0[0]
    }

    /// Bits 4 to 0 of byte 1, where most commands with service actions have it.
    pub const fn service_action(&self) -> u8 {
        self.0[1] & 0x1f
    }

    /// One byte.
    pub const fn byte<const AT: usize>(&self) -> u8 {
        const { assert!(AT < 16) };
        self.0[AT]
    }

    /// Whether any bit of `mask` is set in the byte.
    pub const fn bit<const AT: usize>(&self, mask: u8) -> bool {
        self.byte::<AT>() & mask != 0
    }

    /// A 16-bit field.
    pub const fn be16<const AT: usize>(&self) -> u16 {
        const { assert!(AT + 1 < 16) };
        u16::from_be_bytes([self.0[AT], self.0[AT + 1]])
    }

    /// A 32-bit field.
    pub const fn be32<const AT: usize>(&self) -> u32 {
        const { assert!(AT + 3 < 16) };
        u32::from_be_bytes([self.0[AT], self.0[AT + 1], self.0[AT + 2], self.0[AT + 3]])
    }

    /// A 64-bit field.
    pub const fn be64<const AT: usize>(&self) -> u64 {
        const { assert!(AT + 7 < 16) };
        u64::from_be_bytes([
            self.0[AT],
            self.0[AT + 1],
            self.0[AT + 2],
            self.0[AT + 3],
            self.0[AT + 4],
            self.0[AT + 5],
            self.0[AT + 6],
            self.0[AT + 7],
        ])
    }
}

impl From<[u8; 16]> for Cdb {
    fn from(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_big_endian_fields() {
        let cdb = Cdb([0x88, 0x10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
        assert_eq!(cdb.opcode(), 0x88);
        assert_eq!(cdb.service_action(), 0x10);
        assert_eq!(cdb.be64::<2>(), 0x0001_0203_0405_0607);
        assert_eq!(cdb.be32::<10>(), 0x0809_0a0b);
        assert_eq!(cdb.be16::<14>(), 0x0c0d);
    }
}
