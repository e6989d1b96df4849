//! ROD tokens (SBC-4 §5.10, §5.47; SPC-4 §6.24) as CDBs, parameter lists and methods of a session.
//! Windows calls the feature ODX.

use bytes::Bytes;
use iscsi::initiator::TransferRequest;

use crate::cdb::{Cdb, padded};
use crate::commands::CommandError;
use crate::initiator::Session;

/// Size of a token in bytes.
pub const TOKEN_BYTES: usize = 512;
/// Inactivity timeout that tests request, in seconds; the array may use a shorter one.
pub const TIMEOUT_S: u32 = 600;

/// A token as returned by a target.
pub type Token = [u8; TOKEN_BYTES];

/// Bytes before the token descriptors in RECEIVE ROD TOKEN INFORMATION, without sense data.
const INFORMATION_BYTES: usize = 32;

fn third_party_copy(opcode: u8, service_action: u8, at: usize, list_identifier: u32, length: u32) -> Cdb {
    let mut cdb = padded(&[opcode, service_action]);
    let fields = [(at, list_identifier.to_be_bytes()), (10, length.to_be_bytes())];
    for (at, bytes) in fields {
        for (to, from) in cdb.iter_mut().skip(at).zip(bytes) {
            *to = from;
        }
    }
    cdb
}

/// POPULATE TOKEN with a parameter list of this length.
pub fn populate_token(list_identifier: u32, length: u32) -> Cdb {
    third_party_copy(0x83, 0x10, 6, list_identifier, length)
}

/// WRITE USING TOKEN with a parameter list of this length.
pub fn write_using_token(list_identifier: u32, length: u32) -> Cdb {
    third_party_copy(0x83, 0x11, 6, list_identifier, length)
}

/// COPY OPERATION ABORT.
pub fn copy_operation_abort(list_identifier: u32) -> Cdb {
    third_party_copy(0x83, 0x1C, 2, list_identifier, 0)
}

/// CDB of THIRD-PARTY COPY IN with a list identifier of four bytes: RECEIVE COPY STATUS (LID4) is
/// 05h, RECEIVE COPY DATA (LID4) 06h, RECEIVE ROD TOKEN INFORMATION 07h.
pub fn receive(service_action: u8, list_identifier: u32, length: u32) -> Cdb {
    third_party_copy(0x84, service_action, 2, list_identifier, length)
}

fn ranges(list: &mut Vec<u8>, ranges: &[(u64, u32)]) {
    list.extend_from_slice(&u16::try_from(ranges.len() * 16).unwrap_or(u16::MAX).to_be_bytes());
    for (lba, blocks) in ranges {
        list.extend_from_slice(&lba.to_be_bytes());
        list.extend_from_slice(&blocks.to_be_bytes());
        list.extend_from_slice(&[0; 4]);
    }
}

fn with_data_length(mut list: Vec<u8>) -> Vec<u8> {
    let length = u16::try_from(list.len() - 2).unwrap_or(u16::MAX);
    for (to, from) in list.iter_mut().zip(length.to_be_bytes()) {
        *to = from;
    }
    list
}

/// Parameter list of POPULATE TOKEN: inactivity timeout in seconds (0 for the default), and ranges.
pub fn populate_list(inactivity_timeout: u32, blocks: &[(u64, u32)]) -> Vec<u8> {
    let mut list = vec![0; 4];
    list.extend_from_slice(&inactivity_timeout.to_be_bytes());
    list.extend_from_slice(&[0; 6]);
    ranges(&mut list, blocks);
    with_data_length(list)
}

/// Parameter list of WRITE USING TOKEN.
pub fn write_list(token: &Token, offset: u64, delete: bool, blocks: &[(u64, u32)]) -> Vec<u8> {
    let mut list = vec![0, 0, if delete { 0x02 } else { 0 }, 0, 0, 0, 0, 0];
    list.extend_from_slice(&offset.to_be_bytes());
    list.extend_from_slice(token);
    list.extend_from_slice(&[0; 6]);
    ranges(&mut list, blocks);
    with_data_length(list)
}

/// Well-known token of zeros.
pub fn zero_token() -> Token {
    let mut token = [0; TOKEN_BYTES];
    for (to, from) in token.iter_mut().zip([0xFF, 0xFF, 0x00, 0x01, 0x00, 0x00, 0x01, 0xF8]) {
        *to = from;
    }
    token
}

/// Token in RECEIVE ROD TOKEN INFORMATION.
pub fn token_of(information: &[u8]) -> Option<Token> {
    let sense = usize::from(*information.get(13)?);
    let descriptors = information.get(INFORMATION_BYTES + sense..)?;
    let length = u32::from_be_bytes(descriptors.get(..4)?.try_into().ok()?);
    if length < 514 {
        return None;
    }
    descriptors.get(6..6 + TOKEN_BYTES)?.try_into().ok()
}

impl Session {
    /// POPULATE TOKEN of ranges, and RECEIVE ROD TOKEN INFORMATION.
    pub fn populate_token(&mut self, inactivity_timeout: u32, blocks: &[(u64, u32)]) -> Result<Token, CommandError> {
        const LIST_IDENTIFIER: u32 = 0x544F_4B31;
        let list = populate_list(inactivity_timeout, blocks);
        let cdb = populate_token(LIST_IDENTIFIER, u32::try_from(list.len()).unwrap_or(u32::MAX));
        self.run("POPULATE TOKEN", cdb, TransferRequest::Out(list.into()))?;
        let command = "RECEIVE ROD TOKEN INFORMATION";
        let information: Bytes = self.run(command, receive(0x07, LIST_IDENTIFIER, 1024), TransferRequest::In(1024))?;
        token_of(&information).ok_or(CommandError::Malformed { command, what: "no token" })
    }

    /// WRITE USING TOKEN.
    pub fn write_using_token(
        &mut self,
        token: &Token,
        offset: u64,
        delete: bool,
        blocks: &[(u64, u32)],
    ) -> Result<(), CommandError> {
        let list = write_list(token, offset, delete, blocks);
        let cdb = write_using_token(0x544F_4B32, u32::try_from(list.len()).unwrap_or(u32::MAX));
        self.run("WRITE USING TOKEN", cdb, TransferRequest::Out(list.into())).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use hex_literal::hex;

    use super::*;

    #[test]
    fn bytes_of_the_commands() {
        assert_eq!(populate_token(1, 32), hex!("83 10 00000000 00000001 00000020 00 00"));
        assert_eq!(receive(7, 1, 255), hex!("84 07 00000001 00000000 000000ff 00 00"));
        assert_eq!(copy_operation_abort(9), hex!("83 1c 00000009 00000000 00000000 00 00"));
        let list = populate_list(60, &[(0x10, 8)]);
        assert_eq!(list, hex!("001e 00 00 0000003c 00000000 0000 0010 0000000000000010 00000008 00000000"));
        let list = write_list(&zero_token(), 2, true, &[(0x10, 8)]);
        assert_eq!(
            (list.len(), &list[..24]),
            (552, &hex!("0226 02 0000000000 0000000000000002 ffff00010000 01f8")[..])
        );
        assert_eq!(token_of(&[0; 36]), None);
    }
}
