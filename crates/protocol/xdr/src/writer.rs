//! Growing message.

use bytes::{BufMut, Bytes, BytesMut};

use crate::padding_of;

/// Opaque data up to this length is copied between its neighbours; a copy is cheaper than another
/// element of a vectored write.
const COPY_LIMIT_BYTES: usize = 2 * 1024;

/// Writer of a message.
///
/// All but large opaque data lies in one buffer, so that a length or a status that is known last
/// can be filled in first ([`Writer::reserve`]), and what did not fit can be taken back
/// ([`Writer::truncate`]).
#[derive(Debug, Default)]
pub struct Writer {
    copied: BytesMut,
    /// Large data, each with the number of copied bytes before it.
    shared: Vec<(usize, Bytes)>,
    shared_bytes: usize,
}

/// Position of a number that is filled in later.
#[derive(Debug)]
#[must_use = "a reserved number that is never filled in stays zero"]
pub struct Slot(usize);

/// End of a message at one time, for [`Writer::truncate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    copied: usize,
    shared: usize,
}

impl Writer {
    /// Writer whose buffer has room for `capacity_bytes`.
    pub fn with_capacity(capacity_bytes: usize) -> Self {
        Self { copied: BytesMut::with_capacity(capacity_bytes), ..Self::default() }
    }

    /// Length of the message so far, in bytes.
    pub fn length_bytes(&self) -> usize {
        self.copied.len() + self.shared_bytes
    }

    /// Appends an unsigned integer (RFC 4506 §4.2).
    pub fn u32(&mut self, value: u32) {
        self.copied.put_u32(value);
    }

    /// Appends an integer (RFC 4506 §4.1).
    pub fn i32(&mut self, value: i32) {
        self.copied.put_i32(value);
    }

    /// Appends an unsigned hyper integer (RFC 4506 §4.5).
    pub fn u64(&mut self, value: u64) {
        self.copied.put_u64(value);
    }

    /// Appends a hyper integer (RFC 4506 §4.5).
    pub fn i64(&mut self, value: i64) {
        self.copied.put_i64(value);
    }

    /// Appends a boolean (RFC 4506 §4.4).
    pub fn bool(&mut self, value: bool) {
        self.u32(u32::from(value));
    }

    /// Appends a length or count. More than 2^32 - 1 cannot be said in XDR and is written as that.
    pub fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Appends bytes as they are, with padding: opaque data of a fixed length (RFC 4506 §4.9).
    pub fn fixed(&mut self, data: &[u8]) {
        self.copied.put_slice(data);
        self.pad(data.len());
    }

    /// Appends opaque data or a string (RFC 4506 §4.10, §4.11); the data is copied.
    pub fn opaque(&mut self, data: &[u8]) {
        self.count(data.len());
        self.fixed(data);
    }

    /// Appends opaque data, which is copied if it is short, and shared if it is long.
    pub fn payload(&mut self, data: &Bytes) {
        self.count(data.len());
        self.payload_without_length(data);
    }

    /// Appends the data of [`Writer::payload`] whose length was written before, with its padding.
    pub fn payload_without_length(&mut self, data: &Bytes) {
        if data.len() <= COPY_LIMIT_BYTES {
            return self.fixed(data);
        }
        self.shared.push((self.copied.len(), data.clone()));
        self.shared_bytes += data.len();
        self.pad(data.len());
    }

    fn pad(&mut self, length: usize) {
        self.copied.put_bytes(0, padding_of(length));
    }

    /// Appends a number of four bytes that is filled in later.
    pub fn reserve(&mut self) -> Slot {
        let slot = Slot(self.copied.len());
        self.u32(0);
        slot
    }

    /// Fills in a reserved number. A slot that was taken back by [`Writer::truncate`] is ignored.
    pub fn fill(&mut self, slot: Slot, value: u32) {
        if let Some(bytes) = self.copied.get_mut(slot.0..).and_then(|rest| rest.first_chunk_mut()) {
            *bytes = value.to_be_bytes();
        }
    }

    /// Present end of the message.
    pub fn mark(&self) -> Mark {
        Mark { copied: self.copied.len(), shared: self.shared.len() }
    }

    /// Takes back what was appended since `mark`.
    pub fn truncate(&mut self, mark: Mark) {
        self.copied.truncate(mark.copied);
        for (_, data) in self.shared.drain(mark.shared.min(self.shared.len())..) {
            self.shared_bytes -= data.len();
        }
    }

    /// Bytes that were appended since `mark`.
    pub fn length_since(&self, mark: Mark) -> usize {
        let shared: usize = self.shared.iter().skip(mark.shared).map(|(_, data)| data.len()).sum();
        self.copied.len().saturating_sub(mark.copied) + shared
    }

    /// The message as chunks in wire order, for a vectored write. No chunk is empty.
    pub fn into_chunks(self) -> Vec<Bytes> {
        let copied = self.copied.freeze();
        let mut chunks = Vec::with_capacity(2 * self.shared.len() + 1);
        let mut start = 0;
        for (end, data) in self.shared {
            if end > start {
                chunks.push(copied.slice(start..end));
            }
            chunks.push(data);
            start = end;
        }
        if start < copied.len() {
            chunks.push(copied.slice(start..));
        }
        chunks
    }

    /// The message in one piece; large data is copied.
    pub fn into_bytes(self) -> Bytes {
        let mut chunks = self.into_chunks();
        match chunks.len() {
            0 | 1 => chunks.pop().unwrap_or_default(),
            _ => chunks.concat().into(),
        }
    }
}
