//! Sectors that show their origin: loads write them and compare what they read.
//!
//! A sector of 512 bytes begins with three big-endian words: seed, offset, generation. The rest
//! follows from them. So a reader knows at once whether a sector holds the last write, and if not,
//! which one it holds instead: of another disk, for another offset, of another generation, or parts
//! of several.
//! The layout may change between versions: a load that compares knows its own writes only.

use crate::{INCREMENT, combine};
use std::fmt;

/// Size of a sector in bytes.
pub const SECTOR_BYTES: usize = 512;

/// Bit of the third word that is set in every stamped sector, so that none begins with zeros only.
const STAMPED: u64 = 1 << 63;

/// Origin of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the disk or load.
    pub seed: u64,
    /// Offset in bytes.
    pub offset: u64,
    /// Number of the write; below 2^63.
    pub generation: u64,
}

impl Stamp {
    /// Sector with this origin.
    pub fn sector(self) -> [u8; SECTOR_BYTES] {
        let mut sector = [0; SECTOR_BYTES];
        self.fill(&mut sector);
        sector
    }

    /// Fills a sector.
    fn fill(self, sector: &mut [u8]) {
        let Self { seed, offset, generation } = self;
        let (words, _) = sector.as_chunks_mut::<8>();
        let mut word = combine(combine(seed, offset), generation);
        for to in words.iter_mut().skip(3) {
            word = word.wrapping_add(INCREMENT);
            *to = (word ^ word >> 29).to_be_bytes();
        }
        for (to, from) in words.iter_mut().zip([seed, offset, generation | STAMPED]) {
            *to = from.to_be_bytes();
        }
    }

    /// Origin that the first words of a sector state, whatever its rest is; `None` if they state
    /// none.
    pub fn stated(sector: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u64::from_be_bytes(sector.get(at..at + 8)?.try_into().ok()?));
        let (seed, offset, generation) = (word(0)?, word(8)?, word(16)?);
        (generation & STAMPED != 0).then_some(Self { seed, offset, generation: generation ^ STAMPED })
    }
}

/// Sectors from `offset` on, all of one generation. Offset and length are whole sectors.
pub fn stamped(seed: u64, offset: u64, length_bytes: u64, generation: u64) -> Vec<u8> {
    let mut data = vec![0; usize::try_from(length_bytes).unwrap_or(0)];
    for (sector, offset) in data.chunks_exact_mut(SECTOR_BYTES).zip((offset..).step_by(SECTOR_BYTES)) {
        Stamp { seed, offset, generation }.fill(sector);
    }
    data
}

/// Sector with a number that shows no place, for content that commands copy; 0 is zeros.
pub fn numbered(number: u64) -> [u8; SECTOR_BYTES] {
    match number {
        0 => [0; SECTOR_BYTES],
        seed => Stamp { seed, offset: 0, generation: 0 }.sector(),
    }
}

/// Number of a sector that [`numbered`] built; `None` for any other, and for a mixture of two.
pub fn number_of(sector: &[u8]) -> Option<u64> {
    match Content::of(sector) {
        Content::Zeros => Some(0),
        Content::Stamped(Stamp { seed, offset: 0, generation: 0 }) => Some(seed),
        _ => None,
    }
}

/// Content of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Only zeros, like a deallocated sector.
    Zeros,
    /// A whole sector of this origin.
    Stamped(Stamp),
    /// A sector that states this origin, and whose rest has another one.
    Torn(Stamp),
    /// Data without a stamp.
    Foreign,
}

impl Content {
    /// Identifies the content of a whole sector.
    pub fn of(sector: &[u8]) -> Self {
        match Stamp::stated(sector) {
            _ if sector.len() != SECTOR_BYTES => Self::Foreign,
            _ if is_zero(sector) => Self::Zeros,
            Some(stamp) if stamp.sector() == sector => Self::Stamped(stamp),
            Some(stamp) => Self::Torn(stamp),
            None => Self::Foreign,
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zeros => f.write_str("zeros"),
            Self::Stamped(stamp) => write!(f, "{stamp}"),
            Self::Torn(stamp) => write!(f, "{stamp}, torn"),
            Self::Foreign => f.write_str("data that no guest wrote"),
        }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write {} of disk {:x} for {}", self.generation, self.seed, self.offset)
    }
}

/// Whether there are only zeros.
pub fn is_zero(data: &[u8]) -> bool {
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    data.chunks(ZEROS.len()).all(|chunk| ZEROS.get(..chunk.len()) == Some(chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { seed: 7, offset: 4096, generation: 3 };

    #[test]
    fn a_sector_shows_its_origin() {
        assert_eq!(Content::of(&STAMP.sector()), Content::Stamped(STAMP));
        assert_eq!(Content::of(&STAMP.sector()).to_string(), "write 3 of disk 7 for 4096");
        assert_eq!(Content::of(&[0; SECTOR_BYTES]), Content::Zeros);
        assert_eq!(Content::of(&[5; SECTOR_BYTES]), Content::Foreign);
        let none = Stamp { seed: 0, offset: 0, generation: 0 };
        assert_eq!(Content::of(&none.sector()), Content::Stamped(none));
    }

    #[test]
    fn a_mixture_of_two_sectors_is_torn() {
        for other in [Stamp { seed: 8, ..STAMP }, Stamp { offset: 0, ..STAMP }, Stamp { generation: 4, ..STAMP }] {
            for cut in [24, 32, 256, 504] {
                let mut mixed = STAMP.sector();
                mixed[cut..].copy_from_slice(&other.sector()[cut..]);
                assert!(matches!(Content::of(&mixed), Content::Torn(_)), "{other:?} from byte {cut}");
            }
        }
        assert_eq!(Content::of(&STAMP.sector()[..511]), Content::Foreign);
        assert_eq!(Content::of(&[]), Content::Foreign);
    }

    #[test]
    fn numbers_are_recognized_and_mixtures_are_not() {
        for number in [0, 1, 77, u64::MAX] {
            assert_eq!(number_of(&numbered(number)), Some(number));
        }
        let mut mixed = numbered(77);
        mixed[256..].copy_from_slice(&numbered(78)[256..]);
        assert_eq!(number_of(&mixed), None);
        assert_eq!(number_of(&numbered(77)[..511]), None);
        assert_eq!(number_of(&STAMP.sector()), None);
        assert_eq!(number_of(&[]), None);
        // COMPARE AND WRITE states where two contents differ, which a constant must not explain.
        let difference = numbered(1).iter().zip(numbered(9000)).position(|(one, other)| *one != other);
        assert_eq!(difference, Some(6));
    }

    #[test]
    fn any_two_places_differ() {
        let data = stamped(1, 0, 1 << 16, 0);
        let sectors: std::collections::HashSet<&[u8]> = data.chunks(SECTOR_BYTES).collect();
        assert_eq!(sectors.len(), 128);
        // Seed 1 and offset 0: one word of the first sector is zero, and no other.
        assert_eq!(data.chunks(8).filter(|word| is_zero(word)).count(), 1);
    }
}
