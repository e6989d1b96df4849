//! Why bytes are not a value of a type.

use thiserror::Error;

/// Bytes that are not a value of the wanted type.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{what} at byte {at_bytes}: {problem}")]
pub struct XdrError {
    /// Field that was read, as `Type.field`; `value` outside of a declared type.
    pub what: &'static str,
    /// Position of the offending item in the reader's message, in bytes.
    pub at_bytes: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// Kinds of [`XdrError`].
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Problem {
    /// The message ends inside the item.
    #[error("{wanted} bytes wanted, {found} left")]
    Truncated {
        /// Bytes that the item needs at least.
        wanted: u64,
        /// Bytes that are left.
        found: u64,
    },
    /// Opaque data or a string is longer than its type allows.
    #[error("{found} bytes, at most {maximum} allowed")]
    TooLong {
        /// Length in bytes on the wire.
        found: u32,
        /// Longest permitted length in bytes.
        maximum: u32,
    },
    /// Opaque data is shorter than its type allows.
    #[error("{found} bytes, at least {minimum} needed")]
    TooShort {
        /// Length in bytes on the wire.
        found: u32,
        /// Shortest permitted length in bytes.
        minimum: u32,
    },
    /// An array or a list has more elements than its type allows.
    #[error("{found} elements, at most {maximum} allowed")]
    TooMany {
        /// Count on the wire; for a list, the number at which reading stopped.
        found: u32,
        /// Largest permitted count.
        maximum: u32,
    },
    /// A boolean that is neither 0 nor 1 (RFC 4506 §4.4).
    #[error("boolean of {found}")]
    NotBoolean {
        /// Number on the wire.
        found: u32,
    },
    /// A number that the enumeration or union does not have (RFC 4506 §4.3, §4.15).
    #[error("no such value: {found}")]
    NoSuchValue {
        /// Number on the wire.
        found: u32,
    },
    /// Two fields contradict each other.
    #[error("{found} where another field says {wanted}")]
    Inconsistent {
        /// Number on the wire.
        found: u64,
        /// Number that follows from the other field.
        wanted: u64,
    },
    /// A padding byte is not zero (RFC 4506 §3). Only a strict reader reports this.
    #[error("padding byte of {found:#04x}")]
    Padding {
        /// Byte on the wire.
        found: u8,
    },
    /// The value ends before the message does.
    #[error("{found} bytes after the end")]
    Trailing {
        /// Bytes that are left.
        found: u64,
    },
}

/// Name of an item that no declared type contains.
const UNNAMED: &str = "value";

impl XdrError {
    /// Error at a position, without the name of a field.
    pub const fn new(at_bytes: usize, problem: Problem) -> Self {
        Self { what: UNNAMED, at_bytes, problem }
    }

    /// Names the field, unless a field inside it is named already.
    pub fn within(self, what: &'static str) -> Self {
        if self.what == UNNAMED { Self { what, ..self } } else { self }
    }
}
