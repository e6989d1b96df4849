//! Code that the targets of state machines share: building PDUs, and parsing PDUs of the other end.

use bytes::BytesMut;
use iscsi::framing::{self, Digests, Pdu};
use iscsi::pdu::{BasicHeader, Opcode, RawHeader};

/// CRC-32C as a digest.
pub(super) fn crc32c(bytes: &[u8]) -> [u8; 4] {
    let [a, b, c, d, ..] = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes).to_le_bytes();
    [a, b, c, d]
}

/// Builds a PDU with correct lengths and digests.
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

/// Output stream of one end, parsed by the other.
#[derive(Default)]
pub(super) struct Stream {
    bytes: BytesMut,
}

impl Stream {
    /// Adds a chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
    }

    /// Takes the next complete PDU; the output of the end under test is always well-formed.
    pub fn next(&mut self, digests: Digests) -> Option<Pdu> {
        match framing::take_pdu(&mut self.bytes, digests, 0x00FF_FFFF) {
            Ok(pdu) => pdu,
            Err(error) => panic!("we sent a PDU that is none: {error}"),
        }
    }
}

/// Whether a target may send this opcode.
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

/// Opcode of a PDU.
pub(super) fn opcode(pdu: &Pdu) -> Opcode {
    BasicHeader::from_wire(&pdu.header).opcode()
}
