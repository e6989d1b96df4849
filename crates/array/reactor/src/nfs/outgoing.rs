//! Replies and callbacks that wait for the socket of a connection.

use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// Longest reply that becomes one chunk, with the header of its record.
const SHORT_BYTES: usize = 4 << 10;

/// Replies in the order in which their calls were done.
#[derive(Default)]
pub(super) struct Outgoing {
    chunks: VecDeque<Bytes>,
    /// Bytes in `chunks`.
    bytes: usize,
}

impl Outgoing {
    /// Bytes that wait.
    pub fn len_bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a reply or a callback. Returns its length; `None` if it is too long for a record, which none of the server
    /// is.
    pub fn push(&mut self, reply: Vec<Bytes>) -> Option<usize> {
        let length = reply.iter().map(Bytes::len).sum();
        let header = onc_rpc::record::header(length).ok()?;
        if length <= SHORT_BYTES {
            let mut chunk = BytesMut::with_capacity(header.len() + length);
            chunk.extend_from_slice(&header);
            reply.iter().for_each(|part| chunk.extend_from_slice(part));
            self.push_chunk(chunk.freeze());
        } else {
            self.push_chunk(Bytes::copy_from_slice(&header));
            reply.into_iter().for_each(|part| self.push_chunk(part));
        }
        Some(length)
    }

    fn push_chunk(&mut self, chunk: Bytes) {
        self.bytes += chunk.len();
        self.chunks.push_back(chunk);
    }

    /// Takes the next bytes.
    pub fn next(&mut self) -> Option<Bytes> {
        let chunk = self.chunks.pop_front()?;
        self.bytes -= chunk.len();
        Some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_records_in_order() {
        let mut outgoing = Outgoing::default();
        let large = Bytes::from(vec![2; 5000]);
        assert_eq!(outgoing.push(vec![Bytes::from_static(&[1; 8]), Bytes::from_static(&[1; 4])]), Some(12));
        assert_eq!(outgoing.push(vec![Bytes::from_static(&[3; 8]), large.clone()]), Some(5008));
        assert_eq!(outgoing.len_bytes(), 16 + 5012);
        let chunks: Vec<Bytes> = std::iter::from_fn(|| outgoing.next()).collect();
        assert_eq!(chunks.len(), 4);
        assert_eq!(chunks.concat()[..16], [&[0x80, 0, 0, 12][..], &[1; 12]].concat());
        assert_eq!(chunks[1][..], [0x80, 0, 0x13, 0x90]);
        assert_eq!(chunks[3].as_ptr(), large.as_ptr(), "data is not copied");
        assert_eq!(outgoing.len_bytes(), 0);
    }
}
