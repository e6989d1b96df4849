//! Bounded cursor over a message.

use bytes::Bytes;

use crate::{Problem, XdrError, padding_of};

/// Reader of a message, from the front.
///
/// Opaque data is returned as slices of the message: they share its memory and keep all of it
/// alive. A name that is stored for long should be copied.
#[derive(Clone, Debug)]
pub struct Reader {
    message: Bytes,
    position: usize,
    strict: bool,
}

impl Reader {
    /// Reader that accepts any padding bytes, as servers do.
    pub fn new(message: Bytes) -> Self {
        Self { message, position: 0, strict: false }
    }

    /// Reader that refuses padding bytes other than zero, for checks of what a peer sends.
    pub fn strict(message: Bytes) -> Self {
        Self { strict: true, ..Self::new(message) }
    }

    /// Bytes that were read.
    pub fn position_bytes(&self) -> usize {
        self.position
    }

    /// Bytes that are left.
    pub fn remaining_bytes(&self) -> usize {
        self.message.len() - self.position
    }

    /// Takes all that is left.
    pub fn rest(&mut self) -> Bytes {
        let rest = self.message.slice(self.position..);
        self.position = self.message.len();
        rest
    }

    /// Fails if anything is left ([`Problem::Trailing`]).
    pub fn finish(&self) -> Result<(), XdrError> {
        match self.remaining_bytes() {
            0 => Ok(()),
            left => Err(self.error(Problem::Trailing { found: left as u64 })),
        }
    }

    /// Error at the present position.
    pub fn error(&self, problem: Problem) -> XdrError {
        XdrError::new(self.position, problem)
    }

    fn truncated(&self, wanted: usize) -> XdrError {
        self.error(Problem::Truncated { wanted: wanted as u64, found: self.remaining_bytes() as u64 })
    }

    fn word<const N: usize>(&mut self) -> Result<[u8; N], XdrError> {
        match self.message.get(self.position..).and_then(|left| left.first_chunk()) {
            Some(&word) => {
                self.position += N;
                Ok(word)
            }
            None => Err(self.truncated(N)),
        }
    }

    /// Unsigned integer (RFC 4506 §4.2).
    pub fn u32(&mut self) -> Result<u32, XdrError> {
        self.word().map(u32::from_be_bytes)
    }

    /// Integer (RFC 4506 §4.1).
    pub fn i32(&mut self) -> Result<i32, XdrError> {
        self.word().map(i32::from_be_bytes)
    }

    /// Unsigned hyper integer (RFC 4506 §4.5).
    pub fn u64(&mut self) -> Result<u64, XdrError> {
        self.word().map(u64::from_be_bytes)
    }

    /// Hyper integer (RFC 4506 §4.5).
    pub fn i64(&mut self) -> Result<i64, XdrError> {
        self.word().map(i64::from_be_bytes)
    }

    /// Boolean (RFC 4506 §4.4): 0 or 1.
    pub fn bool(&mut self) -> Result<bool, XdrError> {
        let at = self.position;
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            found => Err(XdrError::new(at, Problem::NotBoolean { found })),
        }
    }

    /// Opaque data of a fixed length (RFC 4506 §4.9).
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N], XdrError> {
        let bytes = self.word()?;
        self.padding(N)?;
        Ok(bytes)
    }

    /// Opaque data of a variable length or a string (RFC 4506 §4.10, §4.11), without padding.
    pub fn opaque(&mut self, maximum: u32) -> Result<Bytes, XdrError> {
        let at = self.position;
        let length = self.u32()?;
        if length > maximum {
            return Err(XdrError::new(at, Problem::TooLong { found: length, maximum }));
        }
        let length = length as usize; // at least 32 bits
        if length > self.remaining_bytes() {
            return Err(self.truncated(length));
        }
        let end = self.position + length;
        let data = self.message.slice(self.position..end);
        self.position = end;
        self.padding(length)?;
        Ok(data)
    }

    /// Count of a variable-length array whose elements have at least `element_bytes` (RFC 4506
    /// §4.13).
    pub fn count(&mut self, maximum: u32, element_bytes: usize) -> Result<usize, XdrError> {
        let at = self.position;
        let count = self.u32()?;
        if count > maximum {
            return Err(XdrError::new(at, Problem::TooMany { found: count, maximum }));
        }
        let count = count as usize; // at least 32 bits
        let wanted = count.saturating_mul(element_bytes);
        if wanted > self.remaining_bytes() {
            return Err(self.truncated(wanted));
        }
        Ok(count)
    }

    fn padding(&mut self, length: usize) -> Result<(), XdrError> {
        let padding = padding_of(length);
        let Some(bytes) = self.message.get(self.position..self.position + padding) else {
            return Err(self.truncated(padding));
        };
        if self.strict
            && let Some(&found) = bytes.iter().find(|byte| **byte != 0)
        {
            return Err(self.error(Problem::Padding { found }));
        }
        self.position += padding;
        Ok(())
    }
}
