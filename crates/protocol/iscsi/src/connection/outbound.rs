//! Output of a connection, with StatSN (RFC 7143 §4.2.2.2) and the negotiated digests.

use crate::framing::{Digests, Output};
use crate::pdu::RawHeader;
use bytes::Bytes;

/// Queued output.
#[derive(Debug, Default)]
pub(super) struct Outbound {
    output: Output,
    digests: Digests,
    stat_sn: u32,
}

impl Outbound {
    /// Starts with the StatSN that the initiator expects.
    pub fn start(&mut self, stat_sn: u32) {
        self.stat_sn = stat_sn;
    }

    /// Digests of both directions.
    pub fn digests(&self) -> Digests {
        self.digests
    }

    pub fn set_digests(&mut self, digests: Digests) {
        self.digests = digests;
    }

    /// StatSN of the next PDU with status.
    pub fn stat_sn(&self) -> u32 {
        self.stat_sn
    }

    /// StatSN for a PDU with status.
    pub fn advance_stat_sn(&mut self) -> u32 {
        let stat_sn = self.stat_sn;
        self.stat_sn = stat_sn.wrapping_add(1);
        stat_sn
    }

    pub fn push_header(&mut self, header: RawHeader) {
        self.output.push_header(header, self.digests);
    }

    /// Queues a PDU; its data is copied.
    pub fn push_slice(&mut self, header: RawHeader, data: &[u8]) {
        self.output.push_slice(header, data, self.digests);
    }

    /// Queues a PDU whose data stays where it is.
    pub fn push_bytes(&mut self, header: RawHeader, data: Bytes) {
        self.output.push_bytes(header, data, self.digests);
    }

    pub fn queued_bytes(&self) -> usize {
        self.output.queued_bytes()
    }

    pub fn next_chunk(&mut self) -> Option<Bytes> {
        self.output.next_chunk()
    }
}
