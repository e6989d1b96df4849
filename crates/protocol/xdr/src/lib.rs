//! XDR, RFC 4506: the encoding of ONC RPC and NFS, without I/O.
//!
//! * [`Reader`] takes values from a message. Opaque data are slices of the message; nothing is
//!   copied. A length or a count that a peer sends is compared with its maximum and with the bytes
//!   that are left before anything is allocated.
//! * [`Writer`] appends values to a message. Large opaque data are kept by reference, so that a
//!   message is a list of chunks for a vectored write.
//! * [`Xdr`] is a type with both directions. [`types!`] declares structs, enumerations, code numbers
//!   and unions in the manner of the language of RFC 4506 §6; [`Opaque`], [`Array`] and [`List`] have
//!   their limits in the type.
//!
//! The codec is our own because of two needs that generated decoders of whole calls do not meet: an
//! NFSv4 COMPOUND executes the operations before one that cannot be decoded, and a payload of 1 MiB
//! must not be copied.
//!
//! Left out on purpose: floating point (§4.6 to §4.8), which no protocol here uses.
#![forbid(unsafe_code)]

mod error;
mod macros;
mod reader;
#[cfg(any(test, feature = "testing"))]
mod sample;
mod values;
mod writer;

pub use error::{Problem, XdrError};
pub use reader::Reader;
#[cfg(any(test, feature = "testing"))]
pub use sample::{Random, Sample};
pub use values::{Array, Failure, List, Opaque};
pub use writer::{Mark, Slot, Writer};

/// Type with an XDR encoding.
pub trait Xdr: Sized {
    /// Length in bytes of the shortest encoding. Bounds the count of an array before it is read.
    const MIN_BYTES: usize;

    /// Appends the value.
    fn encode(&self, writer: &mut Writer);

    /// Takes a value from the front of what is left. After an error the position of the reader is
    /// not defined.
    fn decode(reader: &mut Reader) -> Result<Self, XdrError>;
}

/// Bytes of padding after opaque data of `length` bytes (RFC 4506 §3): 0 to 3.
const fn padding_of(length: usize) -> usize {
    length.wrapping_neg() & 3
}

#[cfg(test)]
mod tests;
