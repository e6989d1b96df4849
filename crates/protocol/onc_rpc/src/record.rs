//! Record marking, RFC 5531 §11: a message in a TCP stream is a record, which consists of fragments.
//! Before each fragment stand four bytes: its length in 31 bits, and in the highest bit whether it
//! is the last one of the record.
//!
//! [`Reassembly`] takes records from a receive buffer. A record of one fragment, which is what all
//! known clients send, is not copied.

use bytes::{Buf, Bytes, BytesMut};
use thiserror::Error;
use xdr::{Mark, Slot, Writer};

/// Bytes before each fragment.
pub const HEADER_BYTES: usize = 4;
/// Bit of the last fragment.
const LAST: u32 = 1 << 31;
/// Shortest message: transaction id and message type. A shorter record is none.
pub const MIN_RECORD_BYTES: usize = 8;
/// Most fragments of one record. A library that sends a record of 1 MiB in pieces of 4 000 bytes
/// needs 263.
pub const MAX_FRAGMENTS: u32 = 1024;

/// Stream that is not one of records within the limits. It cannot be resumed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RecordError {
    /// The fragments announced so far are longer than the longest permitted record.
    #[error("record of at least {announced_bytes} bytes, at most {maximum_bytes} allowed")]
    TooLong {
        /// Length of the record, as far as it is known.
        announced_bytes: u64,
        /// Longest permitted record.
        maximum_bytes: u64,
    },
    /// The record has too many fragments, which may be empty.
    #[error("record of more than {MAX_FRAGMENTS} fragments")]
    TooManyFragments,
    /// The record is too short to be a message.
    #[error("record of {found_bytes} bytes, at least {MIN_RECORD_BYTES} needed")]
    TooShort {
        /// Length of the record.
        found_bytes: usize,
    },
}

/// Result of [`Reassembly::take`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A whole record without its fragment headers.
    Record(Bytes),
    /// The buffer has no whole record yet.
    Incomplete {
        /// Bytes that are missing at least; the owner of the buffer decides for how many it makes
        /// room. At most four more than the longest record.
        missing_bytes: usize,
    },
}

/// Reassembly of the records of one stream.
#[derive(Debug)]
pub struct Reassembly {
    max_record_bytes: usize,
    /// Fragments before the present one.
    partial: BytesMut,
    fragments: u32,
}

impl Reassembly {
    /// Reassembly of records of at most `max_record_bytes`.
    pub fn new(max_record_bytes: usize) -> Self {
        Self { max_record_bytes, partial: BytesMut::new(), fragments: 0 }
    }

    /// Bytes of whole fragments of an unfinished record, in addition to the receive buffer.
    pub fn held_bytes(&self) -> usize {
        self.partial.len()
    }

    /// Takes the first record from `input`, and the fragments that belong to an unfinished one.
    ///
    /// Reads each byte once, and a fragment's header again for each call before the fragment is
    /// whole; nothing is allocated for bytes that have not arrived.
    pub fn take(&mut self, input: &mut BytesMut) -> Result<Progress, RecordError> {
        loop {
            let Some(&header) = input.first_chunk::<HEADER_BYTES>() else {
                return Ok(Progress::Incomplete { missing_bytes: HEADER_BYTES - input.len() });
            };
            let header = u32::from_be_bytes(header);
            let length = (header & !LAST) as usize; // 31 bits
            let announced = self.partial.len().saturating_add(length);
            if announced > self.max_record_bytes {
                return Err(RecordError::TooLong {
                    announced_bytes: announced as u64,
                    maximum_bytes: self.max_record_bytes as u64,
                });
            }
            if self.fragments >= MAX_FRAGMENTS {
                return Err(RecordError::TooManyFragments);
            }
            let end = HEADER_BYTES + length;
            if input.len() < end {
                return Ok(Progress::Incomplete { missing_bytes: end - input.len() });
            }
            input.advance(HEADER_BYTES);
            let fragment = input.split_to(length);
            self.fragments += 1;
            if header & LAST != 0 {
                return self.finish(fragment).map(Progress::Record);
            }
            self.partial.extend_from_slice(&fragment);
        }
    }

    fn finish(&mut self, last: BytesMut) -> Result<Bytes, RecordError> {
        self.fragments = 0;
        let record = if self.partial.is_empty() {
            last.freeze()
        } else {
            let mut record = std::mem::take(&mut self.partial);
            record.extend_from_slice(&last);
            record.freeze()
        };
        if record.len() < MIN_RECORD_BYTES {
            return Err(RecordError::TooShort { found_bytes: record.len() });
        }
        Ok(record)
    }
}

/// Record that is being written, as one fragment.
#[derive(Debug)]
#[must_use = "a record has to be finished"]
pub struct Record {
    header: Slot,
    start: Mark,
}

impl Record {
    /// Starts a record at the end of `writer`, which may have other records before it.
    pub fn start(writer: &mut Writer) -> Self {
        let header = writer.reserve();
        Self { header, start: writer.mark() }
    }

    /// Bytes of the record so far, without the fragment header.
    pub fn length_bytes(&self, writer: &Writer) -> usize {
        writer.length_since(self.start)
    }

    /// Ends the record. One of 2^31 bytes or more cannot be sent; then `writer` has no valid
    /// record.
    pub fn finish(self, writer: &mut Writer) -> Result<(), RecordError> {
        let header = header_of(self.length_bytes(writer))?;
        writer.fill(self.header, header);
        Ok(())
    }
}

/// Header of a record of one fragment, for a record in chunks. `TooLong`: one of 2^31 bytes or more cannot be
/// sent.
pub fn header(record_bytes: usize) -> Result<[u8; HEADER_BYTES], RecordError> {
    header_of(record_bytes).map(u32::to_be_bytes)
}

fn header_of(record_bytes: usize) -> Result<u32, RecordError> {
    let length = u32::try_from(record_bytes).ok().filter(|length| *length < LAST);
    let too_long = RecordError::TooLong { announced_bytes: record_bytes as u64, maximum_bytes: u64::from(LAST - 1) };
    length.map(|length| LAST | length).ok_or(too_long)
}

#[cfg(test)]
mod tests;
