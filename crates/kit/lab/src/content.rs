//! Content written by guests: sectors with the seed of their disk, their offset and their
//! generation ([`sector`]), and the record of the content that a disk must hold.

use crate::error::LabError;
use bytes::Bytes;
use random::sector::{self, Content, SECTOR_BYTES, Stamp, is_zero};
use std::cell::RefCell;
use std::collections::HashMap;

/// Unit of writes, in bytes, for which a generation is counted.
pub(crate) const GRAIN: u64 = 4096;

/// Builds sectors from `offset` on, all of one generation. Offset and length are whole sectors.
pub(crate) fn stamped(seed: u64, offset: u64, bytes: u64, generation: u32) -> Bytes {
    sector::stamped(seed, offset, bytes, u64::from(generation)).into()
}

/// Expected content of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Zeros,
    /// A sector with this seed and generation.
    Stamped {
        seed: u64,
        generation: u32,
    },
}

/// Content of a disk before its guest wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Zeros,
    /// Sectors of this seed, generation 0, in the first `bytes` of every `every`; zeros elsewhere.
    Stamped {
        seed: u64,
        bytes: u64,
        every: u64,
    },
}

impl Base {
    /// Stamped over its whole length.
    pub(crate) fn full(seed: u64) -> Self {
        Self::Stamped { seed, bytes: 1, every: 1 }
    }

    /// Content at an offset, and the number of bytes to which it applies.
    pub(crate) fn at(self, offset: u64) -> (Expected, u64) {
        match self {
            Self::Zeros => (Expected::Zeros, u64::MAX),
            Self::Stamped { seed, bytes, every } if bytes >= every => {
                (Expected::Stamped { seed, generation: 0 }, u64::MAX)
            }
            Self::Stamped { seed, bytes, every } => match offset % every {
                within if within < bytes => (Expected::Stamped { seed, generation: 0 }, bytes - within),
                within => (Expected::Zeros, every - within),
            },
        }
    }
}

/// Expected content of a disk.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) seed: u64,
    base: Base,
    /// Generation of each grain that was written.
    written: RefCell<HashMap<u64, u32>>,
}

impl Ledger {
    pub(crate) fn new(seed: u64, base: Base) -> Self {
        Self { seed, base, written: RefCell::default() }
    }

    /// Generation for the next write of these grains, the same for all of them.
    pub(crate) fn next_generation(&self, offset: u64, bytes: u64) -> u32 {
        let written = self.written.borrow();
        let grains = offset / GRAIN..(offset + bytes).div_ceil(GRAIN);
        grains.filter_map(|grain| written.get(&grain).copied()).max().unwrap_or(0) + 1
    }

    /// Records an acknowledged write of whole grains.
    pub(crate) fn wrote(&self, offset: u64, bytes: u64, generation: u32) {
        let mut written = self.written.borrow_mut();
        for grain in offset / GRAIN..(offset + bytes).div_ceil(GRAIN) {
            written.insert(grain, generation);
        }
    }

    /// Expected content of the sector at `offset`.
    pub(crate) fn expected(&self, offset: u64) -> Expected {
        match self.written.borrow().get(&(offset / GRAIN)) {
            Some(generation) => Expected::Stamped { seed: self.seed, generation: *generation },
            None => self.base.at(offset).0,
        }
    }

    /// Compares data read at `offset`.
    ///
    /// Errors: [`LabError::WrongData`] with the content found.
    pub(crate) fn check(&self, offset: u64, data: &[u8]) -> Result<(), LabError> {
        let mut rest = data;
        let mut at = offset;
        while !rest.is_empty() {
            let expected = self.expected(at);
            // Unwritten zeros are checked in long runs.
            let length = match expected {
                Expected::Zeros if self.written.borrow().is_empty() => {
                    usize::try_from(self.base.at(at).1).unwrap_or(usize::MAX).min(rest.len())
                }
                _ => SECTOR_BYTES.min(rest.len()),
            };
            let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            let fine = match expected {
                Expected::Zeros => is_zero(piece),
                Expected::Stamped { seed, generation } => {
                    Stamp { seed, offset: at, generation: u64::from(generation) }.sector() == piece
                }
            };
            if !fine {
                let mut sectors = (at..).step_by(SECTOR_BYTES).zip(piece.chunks(SECTOR_BYTES));
                let wrong = sectors.find(|(_, sector)| expected != Expected::Zeros || !is_zero(sector));
                let (at, sector) = wrong.unwrap_or((at, piece));
                let words = format!("at {at} bytes: expected {expected}, found {}", Content::of(sector));
                return Err(LabError::WrongData(words));
            }
            at += length as u64;
            rest = after;
        }
        Ok(())
    }
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Zeros => f.write_str("zeros"),
            Self::Stamped { seed, generation } => write!(f, "write {generation} of disk {seed:x}"),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_sector_is_identified() {
        let ledger = Ledger::new(7, Base::Stamped { seed: 3, bytes: 8192, every: 16_384 });
        let mut disk = stamped(3, 0, 8192, 0).to_vec();
        disk.resize(16_384, 0);
        ledger.check(0, &disk).unwrap();
        let generation = ledger.next_generation(4096, 8192);
        disk[4096..12_288].copy_from_slice(&stamped(7, 4096, 8192, generation));
        let early = ledger.check(0, &disk).unwrap_err().to_string();
        assert_eq!(early, "at 4096 bytes: expected write 0 of disk 3, found write 1 of disk 7 for 4096");
        ledger.wrote(4096, 8192, generation);
        ledger.check(0, &disk).unwrap();
        assert_eq!((ledger.next_generation(0, 4096), ledger.next_generation(8192, 8192)), (1, 2));
        disk[12_000] ^= 1;
        let torn = ledger.check(0, &disk).unwrap_err().to_string();
        assert_eq!(torn, "at 11776 bytes: expected write 1 of disk 7, found write 1 of disk 7 for 11776, torn");
        disk[15_000] = 1;
        let stray = ledger.check(12_288, &disk[12_288..]).unwrap_err().to_string();
        assert!(stray.starts_with("at 14848 bytes: expected zeros, found data that no guest wrote"), "{stray}");
    }
}
