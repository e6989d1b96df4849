//! Sets of numbers: `bitmap4`, RFC 8881 §3.2.

use xdr::{Problem, Reader, Writer, Xdr, XdrError};

/// Words of a bitmap that are decoded. ESXi pads bitmaps of three words to eight.
const WORDS: usize = 8;

/// Set of numbers below 256: attributes, operations or hints. Written in as few words as it needs;
/// zero words that a peer appends are accepted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Bitmap([u32; WORDS]);

impl Bitmap {
    /// The set without numbers.
    pub const EMPTY: Self = Self([0; WORDS]);
    /// Numbers that a set can have are below this.
    pub const END: u32 = 32 * WORDS as u32;

    /// Set of `numbers`; those that no set can have are left out.
    pub fn new(numbers: impl IntoIterator<Item = u32>) -> Self {
        let mut set = Self::EMPTY;
        numbers.into_iter().for_each(|number| set.insert(number));
        set
    }

    /// Whether the set has a number.
    pub fn contains(&self, number: u32) -> bool {
        self.0.get(number as usize / 32).is_some_and(|word| word & (1 << (number % 32)) != 0)
    }

    /// Adds a number, unless no set can have it.
    pub fn insert(&mut self, number: u32) {
        if let Some(word) = self.0.get_mut(number as usize / 32) {
            *word |= 1 << (number % 32);
        }
    }

    /// Removes a number.
    pub fn remove(&mut self, number: u32) {
        if let Some(word) = self.0.get_mut(number as usize / 32) {
            *word &= !(1 << (number % 32));
        }
    }

    /// Numbers that are in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|index| self.0[index] & other.0[index]))
    }

    /// Numbers that are in this set, but not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|index| self.0[index] & !other.0[index]))
    }

    /// Whether there is no number.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..Self::END).filter(|number| self.contains(*number))
    }

    /// The words of the encoding, zeros at the end included.
    pub(super) fn words(&self) -> [u32; WORDS] {
        self.0
    }
}

/// The numbers, as a set.
impl std::fmt::Debug for Bitmap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl FromIterator<u32> for Bitmap {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        Self::new(numbers)
    }
}

impl Xdr for Bitmap {
    const MIN_BYTES: usize = 4;

    fn encode(&self, writer: &mut Writer) {
        let words = self.0.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        writer.count(words);
        self.0.iter().take(words).for_each(|word| writer.u32(*word));
    }

    fn decode(reader: &mut Reader) -> Result<Self, XdrError> {
        let at = reader.position_bytes();
        let count = reader.count(u32::MAX, 4)?;
        let mut set = Self::EMPTY;
        for index in 0..count {
            let found = reader.u32()?;
            match set.0.get_mut(index) {
                Some(word) => *word = found,
                None if found == 0 => {}
                None => {
                    let found = u32::try_from(count).unwrap_or(u32::MAX);
                    return Err(XdrError::new(at, Problem::TooMany { found, maximum: WORDS as u32 }));
                }
            }
        }
        Ok(set)
    }
}

#[cfg(any(test, feature = "testing"))]
impl xdr::Sample for Bitmap {
    fn sample(random: &xdr::Random) -> Self {
        (0..random.below(6)).map(|_| u32::try_from(random.below(100)).unwrap_or(0)).collect()
    }
}
