//! TransportIDs of initiator ports, SPC-4 §7.6.4.6. Only those of iSCSI: no other transport exists
//! here.

use std::fmt;

/// PROTOCOL IDENTIFIER of iSCSI, SPC-4 §7.6.1.
const PROTOCOL_ISCSI: u8 = 0x5;
/// Text between name and ISID.
const SEPARATOR: &str = ",i,0x";
/// Longest iSCSI name, RFC 7143 §4.2.7.1.
const MAX_NAME_BYTES: usize = 223;
/// Minimum ADDITIONAL LENGTH.
const MIN_ADDITIONAL_LENGTH: usize = 20;

/// Initiator port: iSCSI name and ISID (RFC 7143 §4.2.7). Two ports are equal if both are equal;
/// the name is stored in lower case, in which it is compared (RFC 3722).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InitiatorPort {
    name: String,
    isid: u64,
}

impl InitiatorPort {
    /// Parses `NAME,i,0xISID`. `None` without an ISID of 1 to 12 hexadecimal digits, or when the
    /// name is empty, too long or contains a NUL.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, digits) = text.rsplit_once(SEPARATOR)?;
        let well_formed = (1..=12).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !well_formed {
            return None;
        }
        let isid = u64::from_str_radix(digits, 16).ok()?;
        Some(Self { name: valid_name(name)?, isid })
    }

    /// Creates the port with this name and ISID; `None` when the name is empty, too long or
    /// contains a NUL, or the ISID has more than six bytes.
    pub fn new(name: &str, isid: u64) -> Option<Self> {
        let name = valid_name(name).filter(|_| isid >> 48 == 0)?;
        Some(Self { name, isid })
    }

    /// Name of the initiator.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// ISID, six bytes.
    pub fn isid(&self) -> u64 {
        self.isid
    }
}

impl fmt::Display for InitiatorPort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{SEPARATOR}{:012x}", self.name, self.isid)
    }
}

/// Returns a valid name in the form in which it is compared.
fn valid_name(name: &str) -> Option<String> {
    let valid = !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains('\0');
    valid.then(|| name.to_ascii_lowercase())
}

/// TransportID of an iSCSI initiator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportId {
    /// TPID FORMAT 00b: an initiator device by name, with any of its ports.
    Device(String),
    /// TPID FORMAT 01b: an initiator port.
    Port(InitiatorPort),
}

/// Reason why bytes are not a TransportID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportIdError {
    /// First byte of the field in error, from the start of the TransportID.
    pub at: usize,
}

impl TransportId {
    /// Decodes the TransportID at the start of `bytes`; returns it with its length.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), TransportIdError> {
        let [first, _reserved, high, low, rest @ ..] = bytes else { return Err(TransportIdError { at: 0 }) };
        let format = first >> 6;
        if first & 0x0f != PROTOCOL_ISCSI || format > 1 {
            return Err(TransportIdError { at: 0 });
        }
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if length < MIN_ADDITIONAL_LENGTH || !length.is_multiple_of(4) {
            return Err(TransportIdError { at: 2 });
        }
        let field = rest.get(..length).ok_or(TransportIdError { at: 2 })?;
        let wrong = TransportIdError { at: 4 };
        let end = field.iter().position(|byte| *byte == 0).ok_or(wrong)?;
        let (text, padding) = field.split_at(end);
        if padding.iter().any(|byte| *byte != 0) {
            return Err(wrong);
        }
        let text = str::from_utf8(text).map_err(|_| wrong)?;
        let id =
            if format == 0 { valid_name(text).map(Self::Device) } else { InitiatorPort::parse(text).map(Self::Port) };
        Ok((id.ok_or(wrong)?, 4 + length))
    }

    /// Encodes the TransportID: header, text, at least one NUL, padded to a multiple of four and to
    /// at least 24 bytes.
    pub fn encode(&self) -> Vec<u8> {
        let (format, text) = match self {
            Self::Device(name) => (0x00, name.clone()),
            Self::Port(port) => (0x40, port.to_string()),
        };
        let length = (text.len() + 1).next_multiple_of(4).max(MIN_ADDITIONAL_LENGTH);
        let [high, low] = u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
        let mut bytes = vec![format | PROTOCOL_ISCSI, 0, high, low];
        bytes.extend_from_slice(text.as_bytes());
        bytes.resize(4 + length, 0);
        bytes
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use hex_literal::hex;

    #[test]
    fn both_formats_are_read_and_written() {
        let device = hex!("05 00 0014 69716e2e782e793a7a 0000000000000000000000");
        assert_eq!(TransportId::parse(&device), Ok((TransportId::Device("iqn.x.y:z".into()), 24)));
        assert_eq!(TransportId::Device("iqn.x.y:z".into()).encode(), device);
        let port = [&hex!("45 00 001c")[..], b"iqn.x.y:z,i,0x00023d000001\0\0"].concat();
        let (id, length) = TransportId::parse(&port).unwrap();
        assert_eq!((length, id.encode()), (port.len(), port.clone()));
        let upper = [&hex!("45 00 001c")[..], b"IQN.x.Y:z,i,0x00023D000001\0\0"].concat();
        assert_eq!(TransportId::parse(&upper).unwrap().0, id);
    }

    #[test]
    fn fewer_digits_are_the_same_isid() {
        assert_eq!(InitiatorPort::parse("a,i,0x1"), InitiatorPort::parse("A,i,0x000000000001"));
        for text in ["a", "a,i,0x", "a,i,0x1234567890123", "a,i,0xg", ",i,0x1", "a,i,0x+1"] {
            assert_eq!(InitiatorPort::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        let good = TransportId::Device("iqn.x.y:z".into()).encode();
        for (at, value, field) in
            [(0, 0x06, 0), (0, 0x85, 0), (3, 0x10, 2), (3, 0x15, 2), (3, 0x18, 2), (23, 1, 4), (4, 0xff, 4), (4, 0, 4)]
        {
            let mut bytes = good.clone();
            bytes[at] = value;
            assert_eq!(TransportId::parse(&bytes), Err(TransportIdError { at: field }), "{at}: {value:02x}");
        }
        assert_eq!(TransportId::parse(&good[..3]), Err(TransportIdError { at: 0 }));
        let unterminated = [&hex!("05 00 0014")[..], &[b'a'; 20]].concat();
        assert_eq!(TransportId::parse(&unterminated), Err(TransportIdError { at: 4 }));
    }
}
