//! Content written by guests. Every sector holds its disk's seed, its offset and its generation;
//! the rest follows from these. So a reader knows at once whether a sector holds the last write,
//! and if not, what it holds instead.

use crate::error::LabError;
use bytes::Bytes;
use std::cell::RefCell;
use std::collections::HashMap;

/// Unit of writes, in bytes, for which a generation is counted.
pub(crate) const GRAIN: u64 = 4096;

const SECTOR_LENGTH: usize = 512;
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

fn sector(seed: u64, offset: u64, generation: u32, to: &mut Vec<u8>) {
    to.extend_from_slice(&seed.to_le_bytes());
    to.extend_from_slice(&offset.to_le_bytes());
    to.extend_from_slice(&(u64::from(generation) | 1 << 63).to_le_bytes());
    let mixed = seed ^ offset.rotate_left(17) ^ u64::from(generation).rotate_left(41);
    let mut word = mixed.wrapping_mul(0xd6e8_feb8_6659_fd93) | 1;
    for _ in 3..SECTOR_LENGTH / 8 {
        word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
        to.extend_from_slice(&(word ^ word >> 29).to_le_bytes());
    }
}

/// Builds sectors from `offset` on, all of one generation. Offset and length are whole sectors.
pub(crate) fn stamped(seed: u64, offset: u64, bytes: u64, generation: u32) -> Bytes {
    let mut data = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    for at in (offset..offset + bytes).step_by(SECTOR_LENGTH) {
        sector(seed, at, generation, &mut data);
    }
    data.into()
}

fn is_zero(data: &[u8]) -> bool {
    data.chunks(ZEROS.len()).all(|chunk| ZEROS.get(..chunk.len()) == Some(chunk))
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
        let mut scratch = Vec::with_capacity(SECTOR_LENGTH);
        let mut rest = data;
        let mut at = offset;
        while !rest.is_empty() {
            let expected = self.expected(at);
            // Unwritten zeros are checked in long runs.
            let length = match expected {
                Expected::Zeros if self.written.borrow().is_empty() => {
                    usize::try_from(self.base.at(at).1).unwrap_or(usize::MAX).min(rest.len())
                }
                _ => SECTOR_LENGTH.min(rest.len()),
            };
            let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            let fine = match expected {
                Expected::Zeros => is_zero(piece),
                Expected::Stamped { seed, generation } => {
                    scratch.clear();
                    sector(seed, at, generation, &mut scratch);
                    scratch == piece
                }
            };
            if !fine {
                let words = format!("at {at} bytes: expected {expected}, found {}", found(piece));
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

/// Describes the content of a sector.
fn found(data: &[u8]) -> String {
    let word = |at: usize| data.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    match (word(0), word(8), word(16)) {
        _ if is_zero(data) => "zeros".into(),
        (Some(seed), Some(offset), Some(generation)) if generation >> 63 == 1 => {
            let generation = u32::try_from(generation & u64::from(u32::MAX)).unwrap_or(0);
            let mut whole = Vec::new();
            sector(seed, offset, generation, &mut whole);
            let state = if data.starts_with(&whole) { "" } else { ", torn" };
            format!("write {generation} of disk {seed:x} for {offset}{state}")
        }
        _ => "data that no guest wrote".into(),
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

    #[test]
    fn any_two_places_differ() {
        let one = stamped(1, 0, 1 << 16, 0);
        let sectors: std::collections::HashSet<&[u8]> = one.chunks(SECTOR_LENGTH).collect();
        assert_eq!(sectors.len(), 128);
        assert!(one.chunks(8).all(|word| !is_zero(word)) || one.chunks(8).filter(|word| is_zero(word)).count() < 2);
    }
}
