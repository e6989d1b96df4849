//! Encodings of the types that RFC 4506 builds in, and of opaque data, arrays and lists with their
//! limits.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::Deref;

use bytes::Bytes;

use crate::{Problem, Reader, Writer, Xdr, XdrError};

/// Elements of an array for which memory is taken before any of them is decoded.
const FIRST_ELEMENTS: usize = 64;
/// Bytes of opaque data that `Debug` shows.
const SHOWN_BYTES: usize = 64;

macro_rules! numbers {
    ($($type:ident $bytes:literal;)*) => {$(
        impl Xdr for $type {
            const MIN_BYTES: usize = $bytes;
            fn encode(&self, writer: &mut Writer) {
                writer.$type(*self);
            }
            fn decode(reader: &mut Reader) -> Result<Self, XdrError> {
                reader.$type()
            }
        }
    )*};
}

numbers! {
    u32 4;
    i32 4;
    u64 8;
    i64 8;
    bool 4;
}

/// Void (RFC 4506 §4.16).
impl Xdr for () {
    const MIN_BYTES: usize = 0;
    fn encode(&self, _: &mut Writer) {}
    fn decode(_: &mut Reader) -> Result<Self, XdrError> {
        Ok(())
    }
}

/// Opaque data of a fixed length (RFC 4506 §4.9).
impl<const N: usize> Xdr for [u8; N] {
    const MIN_BYTES: usize = N.next_multiple_of(4);
    fn encode(&self, writer: &mut Writer) {
        writer.fixed(self);
    }
    fn decode(reader: &mut Reader) -> Result<Self, XdrError> {
        reader.fixed()
    }
}

/// Optional data (RFC 4506 §4.19), and arrays of at most one element, which have the same encoding.
impl<T: Xdr> Xdr for Option<T> {
    const MIN_BYTES: usize = 4;
    fn encode(&self, writer: &mut Writer) {
        writer.bool(self.is_some());
        if let Some(value) = self {
            value.encode(writer);
        }
    }
    fn decode(reader: &mut Reader) -> Result<Self, XdrError> {
        Ok(if reader.bool()? { Some(T::decode(reader)?) } else { None })
    }
}

/// The value itself: the box makes a variant of an enum small.
impl<T: Xdr> Xdr for Box<T> {
    const MIN_BYTES: usize = T::MIN_BYTES;
    fn encode(&self, writer: &mut Writer) {
        T::encode(self, writer);
    }
    fn decode(reader: &mut Reader) -> Result<Self, XdrError> {
        T::decode(reader).map(Box::new)
    }
}

/// Reason why a procedure did not do what it was asked: a number other than zero, and perhaps
/// details. `Result<T, impl Failure>` is a union over the status of a procedure (RFC 4506 §4.15).
pub trait Failure: Sized {
    /// Status on the wire.
    fn code(&self) -> NonZeroU32;

    /// Appends what follows the status.
    fn encode_details(&self, writer: &mut Writer);

    /// Takes what follows the status.
    fn decode_details(code: NonZeroU32, reader: &mut Reader) -> Result<Self, XdrError>;
}

/// Union over a status: 0 and the value, or another number and the details of the failure.
impl<T: Xdr, E: Failure> Xdr for Result<T, E> {
    const MIN_BYTES: usize = 4;
    fn encode(&self, writer: &mut Writer) {
        match self {
            Ok(value) => {
                writer.u32(0);
                value.encode(writer);
            }
            Err(failure) => {
                writer.u32(failure.code().get());
                failure.encode_details(writer);
            }
        }
    }
    fn decode(reader: &mut Reader) -> Result<Self, XdrError> {
        match NonZeroU32::new(reader.u32()?) {
            None => T::decode(reader).map(Ok),
            Some(code) => E::decode_details(code, reader).map(Err),
        }
    }
}

/// Opaque data or a string of `MIN` to `MAX` bytes (RFC 4506 §4.10, §4.11). A string may have any
/// bytes: what they mean is decided by the protocol above.
///
/// The limits hold for data that was decoded. Values of our own must keep to them.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opaque<const MAX: u32, const MIN: u32 = 0>(Bytes);

impl<const MAX: u32, const MIN: u32> Opaque<MAX, MIN> {
    /// The data, which may be a slice of a whole message.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// The data, which may be a slice of a whole message.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }
}

impl<const MAX: u32, const MIN: u32> Deref for Opaque<MAX, MIN> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl<const MAX: u32, const MIN: u32> From<Bytes> for Opaque<MAX, MIN> {
    fn from(data: Bytes) -> Self {
        Self(data)
    }
}

impl<const MAX: u32, const MIN: u32> From<Vec<u8>> for Opaque<MAX, MIN> {
    fn from(data: Vec<u8>) -> Self {
        Self(data.into())
    }
}

impl<const MAX: u32, const MIN: u32> From<&[u8]> for Opaque<MAX, MIN> {
    fn from(data: &[u8]) -> Self {
        Self(Bytes::copy_from_slice(data))
    }
}

impl<const MAX: u32, const MIN: u32> From<&str> for Opaque<MAX, MIN> {
    fn from(text: &str) -> Self {
        Self::from(text.as_bytes())
    }
}

/// Shows at most 64 bytes, and how many there are.
impl<const MAX: u32, const MIN: u32> fmt::Debug for Opaque<MAX, MIN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.get(..SHOWN_BYTES).unwrap_or(&self.0);
        write!(f, "\"{}\"", shown.escape_ascii())?;
        if shown.len() < self.0.len() { write!(f, "… {} bytes", self.0.len()) } else { Ok(()) }
    }
}

impl<const MAX: u32, const MIN: u32> Xdr for Opaque<MAX, MIN> {
    const MIN_BYTES: usize = 4 + (MIN as usize).next_multiple_of(4);
    fn encode(&self, writer: &mut Writer) {
        writer.payload(&self.0);
    }
    fn decode(reader: &mut Reader) -> Result<Self, XdrError> {
        let at = reader.position_bytes();
        let data = reader.opaque(MAX)?;
        // At most MAX bytes.
        let found = data.len() as u32;
        if found < MIN {
            return Err(XdrError::new(at, Problem::TooShort { found, minimum: MIN }));
        }
        Ok(Self(data))
    }
}

macro_rules! sequences {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name<T, const MAX: u32>(pub Vec<T>);

        impl<T, const MAX: u32> Default for $name<T, MAX> {
            fn default() -> Self {
                Self(Vec::new())
            }
        }

        impl<T, const MAX: u32> Deref for $name<T, MAX> {
            type Target = [T];
            fn deref(&self) -> &[T] {
                &self.0
            }
        }

        impl<T, const MAX: u32> From<Vec<T>> for $name<T, MAX> {
            fn from(elements: Vec<T>) -> Self {
                Self(elements)
            }
        }
    )*};
}

sequences! {
    /// Array of at most `MAX` elements (RFC 4506 §4.13). A count whose elements would not fit into
    /// what is left of the message is refused, and memory grows with the elements that were decoded.
    Array;
    /// List of at most `MAX` elements, each before it announced by a boolean: what RFC 4506 §4.19
    /// writes as a structure that ends in a pointer to the next one.
    List;
}

impl<T: Xdr, const MAX: u32> Xdr for Array<T, MAX> {
    const MIN_BYTES: usize = 4;
    fn encode(&self, writer: &mut Writer) {
        writer.count(self.0.len());
        self.0.iter().for_each(|element| element.encode(writer));
    }
    fn decode(reader: &mut Reader) -> Result<Self, XdrError> {
        // No element is shorter than a word, so that a count is never larger than a message.
        const { assert!(T::MIN_BYTES >= 4) };
        let count = reader.count(MAX, T::MIN_BYTES)?;
        // The count is only a promise: memory grows with the elements that are there.
        let mut elements = Vec::with_capacity(count.min(FIRST_ELEMENTS));
        for _ in 0..count {
            elements.push(T::decode(reader)?);
        }
        Ok(Self(elements))
    }
}

impl<T: Xdr, const MAX: u32> Xdr for List<T, MAX> {
    const MIN_BYTES: usize = 4;
    fn encode(&self, writer: &mut Writer) {
        for element in &self.0 {
            writer.bool(true);
            element.encode(writer);
        }
        writer.bool(false);
    }
    fn decode(reader: &mut Reader) -> Result<Self, XdrError> {
        let mut elements = Vec::new();
        loop {
            let at = reader.position_bytes();
            if !reader.bool()? {
                return Ok(Self(elements));
            }
            if elements.len() >= MAX as usize {
                let found = MAX.saturating_add(1);
                return Err(XdrError::new(at, Problem::TooMany { found, maximum: MAX }));
            }
            elements.push(T::decode(reader)?);
        }
    }
}
