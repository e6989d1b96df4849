//! PDUs in byte buffers, RFC 7143 §11.1: header, additional header segments, header digest, data
//! padded to four bytes, data digest. Digests are CRC-32C, sent least significant byte first (RFC
//! 7143 §13.1).
//!
//! Taking a PDU from a receive buffer does not copy its data. Appending one to [`Output`] copies
//! small data next to the header, and keeps large data as a chunk of its own.

use std::collections::VecDeque;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use crc_fast::CrcAlgorithm;
use thiserror::Error;
use zerocopy::FromBytes;

use crate::pdu::{BasicHeader, HEADER_BYTES, RawHeader};

/// Bytes in a digest.
const DIGEST_BYTES: usize = 4;
/// Data up to this length is copied next to its header; a copy is cheaper than another element of a
/// vectored write. A block of 4 KiB is not copied: its bytes may be in no processor cache, and the
/// socket copies them anyway.
const COPY_LIMIT_BYTES: usize = 2 * 1024;
/// Approximate size of the chunks of copied PDUs.
const CHUNK_BYTES: usize = 64 * 1024;
/// Capacity to reserve when the buffer for copied PDUs is used up: every connection has such a buffer.
const TAIL_BYTES: usize = 4 * 1024;

/// Digests in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    /// CRC-32C after the header.
    pub header: bool,
    /// CRC-32C after the data.
    pub data: bool,
}

/// PDU of which only length and digests are checked.
#[derive(Clone, Debug)]
pub struct Pdu {
    /// The basic header segment.
    pub header: RawHeader,
    /// Additional header segments, 0 to 1020 bytes.
    pub additional: Bytes,
    /// The data segment without padding.
    pub data: Bytes,
}

impl Pdu {
    /// Copy of the PDU in memory of its own size. It may wait for long: it keeps no receive buffer alive.
    pub fn copied(&self) -> Self {
        let [additional, data] = [&self.additional, &self.data].map(|bytes| Bytes::copy_from_slice(bytes));
        Self { header: self.header, additional, data }
    }
}

/// Reason why bytes are not a PDU. Only after [`FramingError::DataDigest`] is the stream still in
/// step.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FramingError {
    /// The data segment is longer than the receiver permits.
    #[error("data segment of {length} bytes, {limit} allowed")]
    DataSegmentTooLong {
        /// DataSegmentLength of the header.
        length: u32,
        /// MaxRecvDataSegmentLength in force.
        limit: u32,
        /// Header.
        header: Box<RawHeader>,
    },
    /// The header digest does not match; no field of the header is reliable.
    #[error("header digest error")]
    HeaderDigest,
    /// The data digest does not match; the PDU was removed from the buffer.
    #[error("data digest error")]
    DataDigest {
        /// The header.
        header: Box<RawHeader>,
    },
}

fn crc32c(bytes: &[u8]) -> [u8; DIGEST_BYTES] {
    let [a, b, c, d, ..] = crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes).to_le_bytes();
    [a, b, c, d]
}

/// CRC-32C of the data segment with its padding.
fn data_digest(data: &[u8]) -> [u8; DIGEST_BYTES] {
    let padding = padding_of(data.len());
    if padding == 0 {
        return crc32c(data);
    }
    let mut digest = crc_fast::Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(data);
    digest.update(&[0; 3][..padding]);
    let [a, b, c, d, ..] = digest.finalize().to_le_bytes();
    [a, b, c, d]
}

const fn padding_of(length: usize) -> usize {
    length.wrapping_neg() & 3
}

/// Takes the first PDU from `input`. If it is not complete, returns `None` and reserves room for
/// the rest of it.
///
/// `max_data_segment_bytes` is the MaxRecvDataSegmentLength in force; it bounds the reserved room.
pub fn take_pdu(
    input: &mut BytesMut,
    digests: Digests,
    max_data_segment_bytes: u32,
) -> Result<Option<Pdu>, FramingError> {
    let Ok((header, _)) = RawHeader::read_from_prefix(input) else {
        input.reserve(HEADER_BYTES);
        return Ok(None);
    };
    let basic = BasicHeader::from_wire(&header);
    let additional_bytes = usize::from(basic.total_ahs_length) * 4;
    let header_end = HEADER_BYTES + additional_bytes;
    let data_start = header_end + if digests.header { DIGEST_BYTES } else { 0 };
    if digests.header {
        match (input.get(..header_end), input.get(header_end..data_start)) {
            (Some(covered), Some(digest)) => {
                if crc32c(covered) != digest {
                    return Err(FramingError::HeaderDigest);
                }
            }
            _ => {
                input.reserve(data_start - input.len());
                return Ok(None);
            }
        }
    }
    let length = basic.data_segment_length.get();
    if length > max_data_segment_bytes {
        return Err(FramingError::DataSegmentTooLong {
            length,
            limit: max_data_segment_bytes,
            header: Box::new(header),
        });
    }
    let data_bytes = length as usize; // 24 bits
    let data_end = data_start + data_bytes;
    let padded_end = data_end + padding_of(data_bytes);
    let total = padded_end + if digests.data && data_bytes > 0 { DIGEST_BYTES } else { 0 };
    if input.len() < total {
        input.reserve(total - input.len());
        return Ok(None);
    }
    if digests.data && data_bytes > 0 {
        let covered = input.get(data_start..padded_end).unwrap_or_default();
        if input.get(padded_end..total) != Some(&crc32c(covered)[..]) {
            input.advance(total);
            return Err(FramingError::DataDigest { header: Box::new(header) });
        }
    }
    if data_bytes == 0 && additional_bytes == 0 {
        input.advance(total);
        return Ok(Some(Pdu { header, additional: Bytes::new(), data: Bytes::new() }));
    }
    let whole = input.split_to(total).freeze();
    Ok(Some(Pdu { header, additional: whole.slice(HEADER_BYTES..header_end), data: whole.slice(data_start..data_end) }))
}

/// Queued output PDUs, as chunks for a vectored write.
#[derive(Debug, Default)]
pub struct Output {
    ready: VecDeque<Bytes>,
    tail: BytesMut,
    queued_bytes: usize,
}

impl Output {
    /// Bytes that are still queued.
    pub fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Takes the next chunk, in wire order; `None` when the queue is empty.
    pub fn next_chunk(&mut self) -> Option<Bytes> {
        let chunk = match self.ready.pop_front() {
            Some(chunk) => chunk,
            None if self.tail.is_empty() => return None,
            None => self.tail.split().freeze(),
        };
        self.queued_bytes -= chunk.len();
        Some(chunk)
    }

    /// Queues a PDU without data or additional header segments. Sets the lengths in `header`.
    pub fn push_header(&mut self, header: RawHeader, digests: Digests) {
        self.push(header, Data::Slice(&[]), digests);
    }

    /// Queues a PDU whose data is copied.
    pub fn push_slice(&mut self, header: RawHeader, data: &[u8], digests: Digests) {
        self.push(header, Data::Slice(data), digests);
    }

    /// Queues a PDU whose data is copied if short, and shared if long.
    pub fn push_bytes(&mut self, header: RawHeader, data: Bytes, digests: Digests) {
        self.push(header, Data::Shared(data), digests);
    }

    /// Queues raw bytes.
    pub fn push_raw(&mut self, bytes: Bytes) {
        self.queued_bytes += bytes.len();
        self.cut_tail();
        self.ready.push_back(bytes);
    }

    fn cut_tail(&mut self) {
        if !self.tail.is_empty() {
            self.ready.push_back(self.tail.split().freeze());
        }
    }

    fn push(&mut self, mut header: RawHeader, data: Data<'_>, digests: Digests) {
        let length = data.as_slice().len();
        let padding = padding_of(length);
        // Callers pass at most 2^24 - 1 bytes: data is split by MaxRecvDataSegmentLength before.
        let [_, _, _, _, _, high, middle, low] = (length as u64).to_be_bytes();
        header[4..8].copy_from_slice(&[0, high, middle, low]);
        let digest_bytes = 2 * DIGEST_BYTES;
        let copied = if length <= COPY_LIMIT_BYTES { length } else { 0 };
        let needed = HEADER_BYTES + copied + 3 + digest_bytes;
        if self.tail.capacity() - self.tail.len() < needed {
            self.tail.reserve(needed.max(TAIL_BYTES));
        }
        let before = self.tail.len();
        self.tail.put_slice(&header);
        if digests.header {
            self.tail.put_slice(&crc32c(&header));
        }
        let trailer = (digests.data && length > 0).then(|| data_digest(data.as_slice()));
        match data {
            Data::Shared(bytes) if length > COPY_LIMIT_BYTES => {
                self.queued_bytes += self.tail.len() - before + length;
                self.cut_tail();
                self.ready.push_back(bytes);
                let before = self.tail.len();
                self.finish(padding, trailer);
                self.queued_bytes += self.tail.len() - before;
            }
            other => {
                self.tail.put_slice(other.as_slice());
                self.finish(padding, trailer);
                self.queued_bytes += self.tail.len() - before;
            }
        }
        if self.tail.len() >= CHUNK_BYTES {
            self.cut_tail();
        }
    }

    fn finish(&mut self, padding: usize, trailer: Option<[u8; DIGEST_BYTES]>) {
        self.tail.put_slice(&[0; 3][..padding]);
        if let Some(digest) = trailer {
            self.tail.put_slice(&digest);
        }
    }
}

enum Data<'a> {
    Slice(&'a [u8]),
    Shared(Bytes),
}

impl Data<'_> {
    fn as_slice(&self) -> &[u8] {
        match self {
            Data::Slice(slice) => slice,
            Data::Shared(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests;
