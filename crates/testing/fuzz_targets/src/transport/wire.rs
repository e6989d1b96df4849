//! What the state machines' targets have in common: PDUs made by hand, and PDUs of the other end taken apart.

use bytes::BytesMut;
use iscsi::framing::{self, Digests, Pdu};
use iscsi::pdu::{BasicHeader, Opcode, RawHeader};

/// CRC-32C as a digest.
pub(super) fn crc32c(bytes: &[u8]) -> [u8; 4] {
    let [a, b, c, d, ..] = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes).to_le_bytes();
    [a, b, c, d]
}

/// A PDU with right lengths and digests.
pub(super) fn pdu(mut header: RawHeader, additional: &[u8], data: &[u8], digests: Digests) -> Vec<u8> {
    let [_, _, _, _, _, high, middle, low] = (data.len() as u64).to_be_bytes();
    header[4] = u8::try_from(additional.len() / 4).unwrap_or(u8::MAX);
    header[5..8].copy_from_slice(&[high, middle, low]);
    let mut bytes = [&header[..], &additional[..usize::from(header[4]) * 4]].concat();
    if digests.header {
        bytes.extend_from_slice(&crc32c(&bytes.clone()));
    }
    if !data.is_empty() {
        let mut padded = data.to_vec();
        padded.resize(data.len().next_multiple_of(4), 0);
        bytes.extend_from_slice(&padded);
        if digests.data {
            bytes.extend_from_slice(&crc32c(&padded));
        }
    }
    bytes
}

/// Four bytes of a header.
pub(super) fn field(header: &RawHeader, at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// The stream of one end, taken apart by the other.
#[derive(Default)]
pub(super) struct Stream {
    bytes: BytesMut,
}

impl Stream {
    /// Adds a chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
    }

    /// The next whole PDU; what this end sends is always well-formed.
    pub fn next(&mut self, digests: Digests) -> Option<Pdu> {
        match framing::take_pdu(&mut self.bytes, digests, 0x00FF_FFFF) {
            Ok(pdu) => pdu,
            Err(error) => panic!("we sent a PDU that is none: {error}"),
        }
    }
}

/// True for what a target may send.
pub(super) fn is_target_opcode(opcode: Opcode) -> bool {
    [
        Opcode::NOP_IN,
        Opcode::SCSI_RESPONSE,
        Opcode::TASK_MANAGEMENT_RESPONSE,
        Opcode::LOGIN_RESPONSE,
        Opcode::TEXT_RESPONSE,
        Opcode::DATA_IN,
        Opcode::LOGOUT_RESPONSE,
        Opcode::R2T,
        Opcode::ASYNC_MESSAGE,
        Opcode::REJECT,
    ]
    .contains(&opcode)
}

/// The opcode of a PDU.
pub(super) fn opcode(pdu: &Pdu) -> Opcode {
    BasicHeader::from_wire(&pdu.header).opcode()
}
