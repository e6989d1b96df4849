//! iSNS (RFC 4171) as far as a target needs it, without I/O: registration of a target, its portals
//! and their portal groups with a server, renewal, and deregistration.
//!
//! [`Registration`] holds the facts to register and builds the messages; [`Reassembly`] takes the
//! server's responses from a TCP stream. Entity Status Inquiry and State Change Notification are
//! left out on purpose: registration before the end of the registration period tells the server
//! that the target is alive (§6.2.6).

use bytes::{Buf, BytesMut};
use std::net::{IpAddr, SocketAddr};
use thiserror::Error;

/// Port of iSNS servers, RFC 4171 §2.
pub const PORT: u16 = 3205;
/// Most portals of one registration; more would not fit a message.
pub const MAX_PORTALS: usize = 256;

const HEADER_BYTES: usize = 12;
const VERSION: u16 = 1;
/// Longest accepted response, over all its PDUs.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// Flags of a message, §5.1.4.
mod flag {
    pub const CLIENT: u16 = 0x8000;
    pub const REPLACE: u16 = 0x1000;
    pub const LAST: u16 = 0x0800;
    pub const FIRST: u16 = 0x0400;
}

/// Functions, §5.2.1 and §5.2.2.
mod function {
    pub const DEVICE_ATTRIBUTE_REGISTRATION: u16 = 0x0001;
    pub const DEVICE_DEREGISTRATION: u16 = 0x0004;
    pub const RESPONSE: u16 = 0x8000;
}

/// Attribute tags, §6.1.
mod tag {
    pub const DELIMITER: u32 = 0;
    pub const ENTITY_IDENTIFIER: u32 = 1;
    pub const ENTITY_PROTOCOL: u32 = 2;
    pub const REGISTRATION_PERIOD: u32 = 6;
    pub const PORTAL_IP_ADDRESS: u32 = 16;
    pub const PORTAL_PORT: u32 = 17;
    pub const ISCSI_NAME: u32 = 32;
    pub const ISCSI_NODE_TYPE: u32 = 33;
    pub const PORTAL_GROUP_IP_ADDRESS: u32 = 49;
    pub const PORTAL_GROUP_PORT: u32 = 50;
    pub const PORTAL_GROUP_TAG: u32 = 51;
}

/// Entity Protocol: iSCSI (§6.2.2).
const PROTOCOL_ISCSI: u32 = 2;
/// iSCSI Node Type: target (§6.4.2).
const NODE_TARGET: u32 = 1;

/// Facts that a target registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Name of the target (iSCSI name), and of the network entity.
    pub target: String,
    /// Address and target portal group tag of each portal; at most [`MAX_PORTALS`] are registered.
    pub portals: Vec<(SocketAddr, u16)>,
    /// Requested registration period in seconds; the server may choose another.
    pub period_seconds: u32,
}

/// Response of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Transaction of the request.
    pub transaction: u16,
    /// Status code, §5.4; 0 is success.
    pub status: u32,
    /// Registration period of the server in seconds, if it returned one.
    pub registration_period_seconds: Option<u32>,
}

/// Protocol error of the server.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum IsnsError {
    /// The server uses another version of the protocol.
    #[error("the server speaks version {0} of iSNS")]
    Version(u16),
    /// The message is not a response to the request.
    #[error("the server sent function {0:#06x} instead of an answer")]
    Function(u16),
    /// Lengths are inconsistent, or PDUs are out of sequence.
    #[error("the server's answer is malformed")]
    Malformed,
    /// The response is longer than any response to a registration.
    #[error("the server's answer is too long")]
    TooLong,
}

fn attribute(message: &mut Vec<u8>, tag: u32, value: &[u8]) {
    let padded = value.len().next_multiple_of(4);
    message.extend_from_slice(&tag.to_be_bytes());
    message.extend_from_slice(&u32::try_from(padded).unwrap_or(u32::MAX).to_be_bytes());
    message.extend_from_slice(value);
    message.resize(message.len() + padded - value.len(), 0);
}

/// Appends a name, which ends with NUL (§6.2.1).
fn name(message: &mut Vec<u8>, tag: u32, text: &str) {
    let mut value = text.as_bytes().to_vec();
    value.push(0);
    attribute(message, tag, &value);
}

fn number(message: &mut Vec<u8>, tag: u32, value: u32) {
    attribute(message, tag, &value.to_be_bytes());
}

/// Appends an address; IPv4 addresses are mapped into IPv6 (§6.3.1).
fn address(message: &mut Vec<u8>, tag: u32, ip: IpAddr) {
    let ip = match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    attribute(message, tag, &ip.octets());
}

fn message(function: u16, flags: u16, transaction: u16, payload: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER_BYTES + payload.len());
    for field in [
        VERSION,
        function,
        u16::try_from(payload.len()).unwrap_or(u16::MAX),
        flags | flag::CLIENT | flag::FIRST | flag::LAST,
        transaction,
        0,
    ] {
        message.extend_from_slice(&field.to_be_bytes());
    }
    message.extend_from_slice(payload);
    message
}

impl Registration {
    /// DevAttrReg (§5.6.5.1) that replaces the target's earlier registration.
    pub fn register(&self, transaction: u16) -> Vec<u8> {
        let portals = || self.portals.iter().take(MAX_PORTALS);
        let mut payload = Vec::new();
        name(&mut payload, tag::ISCSI_NAME, &self.target); // source
        name(&mut payload, tag::ENTITY_IDENTIFIER, &self.target); // message key
        attribute(&mut payload, tag::DELIMITER, &[]);
        name(&mut payload, tag::ENTITY_IDENTIFIER, &self.target);
        number(&mut payload, tag::ENTITY_PROTOCOL, PROTOCOL_ISCSI);
        number(&mut payload, tag::REGISTRATION_PERIOD, self.period_seconds);
        for (portal, _) in portals() {
            address(&mut payload, tag::PORTAL_IP_ADDRESS, portal.ip());
            // Bit 16 is 0 for TCP (§6.3.2).
            number(&mut payload, tag::PORTAL_PORT, u32::from(portal.port()));
        }
        name(&mut payload, tag::ISCSI_NAME, &self.target);
        number(&mut payload, tag::ISCSI_NODE_TYPE, NODE_TARGET);
        for (portal, portal_group_tag) in portals() {
            address(&mut payload, tag::PORTAL_GROUP_IP_ADDRESS, portal.ip());
            number(&mut payload, tag::PORTAL_GROUP_PORT, u32::from(portal.port()));
            number(&mut payload, tag::PORTAL_GROUP_TAG, u32::from(*portal_group_tag));
        }
        message(function::DEVICE_ATTRIBUTE_REGISTRATION, flag::REPLACE, transaction, &payload)
    }

    /// DevDereg (§5.6.5.4) of the entity with all its objects.
    pub fn deregister(&self, transaction: u16) -> Vec<u8> {
        let mut payload = Vec::new();
        name(&mut payload, tag::ISCSI_NAME, &self.target);
        attribute(&mut payload, tag::DELIMITER, &[]);
        name(&mut payload, tag::ENTITY_IDENTIFIER, &self.target);
        message(function::DEVICE_DEREGISTRATION, 0, transaction, &payload)
    }
}

/// Response being reassembled, which may take several PDUs (§5.1.4, §5.1.6).
#[derive(Debug, Default)]
pub struct Reassembly {
    payload: Vec<u8>,
    next_sequence: u16,
}

impl Reassembly {
    /// Takes complete PDUs from `input`; `None` while the response is not complete.
    pub fn take(&mut self, input: &mut BytesMut) -> Result<Option<Response>, IsnsError> {
        while let Some(mut header) = input.get(..HEADER_BYTES) {
            let version = header.get_u16();
            let function = header.get_u16();
            let length = usize::from(header.get_u16());
            let flags = header.get_u16();
            let transaction = header.get_u16();
            let sequence = header.get_u16();
            if version != VERSION {
                return Err(IsnsError::Version(version));
            }
            let request = function & !function::RESPONSE;
            let known = matches!(request, function::DEVICE_ATTRIBUTE_REGISTRATION | function::DEVICE_DEREGISTRATION);
            if function & function::RESPONSE == 0 || !known {
                return Err(IsnsError::Function(function));
            }
            if !length.is_multiple_of(4) || sequence != self.next_sequence {
                return Err(IsnsError::Malformed);
            }
            if self.payload.len() + length > MAX_RESPONSE_BYTES {
                return Err(IsnsError::TooLong);
            }
            if input.len() < HEADER_BYTES + length {
                return Ok(None);
            }
            input.advance(HEADER_BYTES);
            self.payload.extend_from_slice(&input.split_to(length));
            if flags & flag::LAST != 0 {
                self.next_sequence = 0;
                return parse(transaction, &std::mem::take(&mut self.payload)).map(Some);
            }
            self.next_sequence = sequence.wrapping_add(1);
        }
        Ok(None)
    }
}

fn parse(transaction: u16, payload: &[u8]) -> Result<Response, IsnsError> {
    let (status, mut rest) = payload.split_first_chunk::<4>().ok_or(IsnsError::Malformed)?;
    let mut response = Response { transaction, status: u32::from_be_bytes(*status), registration_period_seconds: None };
    while let Some((tag, after)) = rest.split_first_chunk::<4>() {
        let (length, after) = after.split_first_chunk::<4>().ok_or(IsnsError::Malformed)?;
        let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| IsnsError::Malformed)?;
        let (value, next) = after.split_at_checked(length).ok_or(IsnsError::Malformed)?;
        if let (tag::REGISTRATION_PERIOD, Ok(seconds)) = (u32::from_be_bytes(*tag), <[u8; 4]>::try_from(value)) {
            response.registration_period_seconds = Some(u32::from_be_bytes(seconds));
        }
        rest = next;
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use hex_literal::hex;

    fn registration() -> Registration {
        Registration {
            target: "iqn.a:b".into(),
            portals: vec![("192.0.2.1:3260".parse().unwrap(), 1), ("[2001:db8::1]:860".parse().unwrap(), 7)],
            period_seconds: 600,
        }
    }

    #[test]
    fn a_registration_has_entity_portals_node_and_portal_groups() {
        let expected = hex!(
            "0001 0001 00f8 9c00 1234 0000"
            "00000020 00000008 69716e2e613a6200"
            "00000001 00000008 69716e2e613a6200"
            "00000000 00000000"
            "00000001 00000008 69716e2e613a6200"
            "00000002 00000004 00000002"
            "00000006 00000004 00000258"
            "00000010 00000010 00000000000000000000ffffc0000201"
            "00000011 00000004 00000cbc"
            "00000010 00000010 20010db8000000000000000000000001"
            "00000011 00000004 0000035c"
            "00000020 00000008 69716e2e613a6200"
            "00000021 00000004 00000001"
            "00000031 00000010 00000000000000000000ffffc0000201"
            "00000032 00000004 00000cbc"
            "00000033 00000004 00000001"
            "00000031 00000010 20010db8000000000000000000000001"
            "00000032 00000004 0000035c"
            "00000033 00000004 00000007"
        );
        let found = registration().register(0x1234);
        assert_eq!(found.len() - 12, usize::from(u16::from_be_bytes([found[4], found[5]])));
        assert_eq!(found[6..], expected[6..]);
        assert_eq!(found[..4], expected[..4]);
    }

    #[test]
    fn a_deregistration_names_the_entity() {
        assert_eq!(
            registration().deregister(2),
            hex!(
                "0001 0004 0028 8c00 0002 0000"
                "00000020 00000008 69716e2e613a6200"
                "00000000 00000000"
                "00000001 00000008 69716e2e613a6200"
            )
        );
    }

    /// The maximum number of portals fits one message.
    #[test]
    fn the_longest_registration_fits() {
        let portal = ("[2001:db8::1]:860".parse().unwrap(), 7);
        let long = Registration { target: "i".repeat(223), portals: vec![portal; 1000], period_seconds: 1 };
        let message = long.register(1);
        assert_eq!(message.len() - 12, usize::from(u16::from_be_bytes([message[4], message[5]])));
    }

    #[test]
    fn answers_come_in_pieces() {
        let first = hex!("0001 8001 0010 4400 0009 0000" "00000000 00000020 00000004 69716e00");
        let last = hex!("0001 8001 000c 4800 0009 0001" "00000006 00000004 0000012c");
        let bytes = [first.as_slice(), &last].concat();
        let mut reassembly = Reassembly::default();
        let mut input = BytesMut::new();
        for (at, byte) in bytes.iter().enumerate() {
            input.extend_from_slice(&[*byte]);
            let answer = reassembly.take(&mut input).unwrap();
            let whole = Response { transaction: 9, status: 0, registration_period_seconds: Some(300) };
            assert_eq!(answer, (at + 1 == bytes.len()).then_some(whole));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let take = |bytes: &[u8]| Reassembly::default().take(&mut BytesMut::from(bytes));
        assert_eq!(take(&hex!("0002 8001 0004 0c00 0009 0000 00000000")), Err(IsnsError::Version(2)));
        assert_eq!(take(&hex!("0001 0001 0004 0c00 0009 0000 00000000")), Err(IsnsError::Function(1)));
        assert_eq!(take(&hex!("0001 8002 0004 0c00 0009 0000 00000000")), Err(IsnsError::Function(0x8002)));
        assert_eq!(take(&hex!("0001 8001 0003 0c00 0009 0000 000000")), Err(IsnsError::Malformed));
        assert_eq!(take(&hex!("0001 8001 0004 0c00 0009 0001 00000000")), Err(IsnsError::Malformed));
        assert_eq!(take(&hex!("0001 8001 0000 0c00 0009 0000")), Err(IsnsError::Malformed));
        assert_eq!(take(&hex!("0001 8001 000c 0c00 0009 0000 00000000 00000006 ffffffff")), Err(IsnsError::Malformed));
        let mut endless = Reassembly::default();
        let mut sequence = 0u16;
        let error = loop {
            let mut pdu = hex!("0001 8001 fffc 0000 0009 0000").to_vec();
            pdu[10..12].copy_from_slice(&sequence.to_be_bytes());
            pdu.resize(12 + 0xfffc, 0);
            sequence += 1;
            if let Err(error) = endless.take(&mut BytesMut::from(&pdu[..])) {
                break error;
            }
        };
        assert_eq!((error, sequence), (IsnsError::TooLong, 2));
        let mut random = 1u64;
        for length in 0..2000usize {
            let bytes: Vec<u8> = (0..length % 64)
                .map(|_| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    random.to_be_bytes()[0]
                })
                .collect();
            let framed = [&hex!("0001 8001 0034 0c00 0009 0000")[..], &bytes].concat();
            let _answer_or_error = take(&framed);
        }
    }
}
