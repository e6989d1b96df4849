//! Checksums of everything that the pool stores. They are types, so that no address, count or
//! position is taken for one.

use std::fmt;

/// CRC-32C (Castagnoli) of a block or of the used part of a map page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Crc32c(u32);

impl Crc32c {
    /// Value in the place of a checksum that is not known or not needed: of a map page that is not
    /// sealed yet, of a block that is not stored.
    pub const NONE: Self = Self(0);

    /// Checksum of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32)
    }

    /// Checksum with this value.
    #[inline]
    pub const fn new(value: u32) -> Self {
        Self(value)
    }

    /// Value of the checksum.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::LowerHex for Crc32c {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// CRC-64/NVME of a frame of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Crc64(u64);

impl Crc64 {
    /// Value in the place of the checksum of the frame before the first one.
    pub const NONE: Self = Self(0);

    /// Checksum of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, bytes))
    }

    /// Checksum of `head` followed by `rest`.
    pub fn of_both(head: &[u8], rest: &[u8]) -> Self {
        let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc64Nvme);
        digest.update(head);
        digest.update(rest);
        Self(digest.finalize())
    }

    /// Checksum with this value.
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// Value of the checksum.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::LowerHex for Crc64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
