//! CRC-32C, as the engine keeps it for each block.

use crc_fast::{CrcAlgorithm, Digest};

/// CRC-32C of a block, as in the map of the pool: computed when the host's data came in, and stored at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Crc32c(pub u32);

impl Crc32c {
    /// CRC of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_parts(&[bytes])
    }

    /// CRC of parts that follow one another.
    pub(crate) fn of_parts(parts: &[&[u8]]) -> Self {
        let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
        parts.iter().for_each(|part| digest.update(part));
        let [a, b, c, d, ..] = digest.finalize().to_le_bytes();
        Self(u32::from_le_bytes([a, b, c, d]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_castagnoli_polynomial() {
        assert_eq!(Crc32c::of(b"123456789"), Crc32c(0xe306_9283));
        assert_eq!(Crc32c::of_parts(&[b"1234", b"", b"56789"]), Crc32c(0xe306_9283));
    }
}
