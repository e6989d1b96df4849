//! Sense data, SPC-4 §4.5, in both formats.

use std::fmt;

/// Decoded sense data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sense {
    /// Sense key.
    pub key: u8,
    /// Additional sense code.
    pub code: u8,
    /// Additional sense code qualifier.
    pub qualifier: u8,
    /// INFORMATION field, when valid.
    pub information: Option<u64>,
}

impl Sense {
    /// UNIT ATTENTION.
    pub const UNIT_ATTENTION: u8 = 0x06;
    /// MISCOMPARE.
    pub const MISCOMPARE: u8 = 0x0E;

    /// Parses fixed or descriptor format; `None` when it is neither or too short.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        match bytes.first()? & 0x7F {
            0x70 | 0x71 => {
                let word =
                    |at: usize| bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_be_bytes);
                let valid = bytes.first()? & 0x80 != 0;
                Some(Self {
                    key: bytes.get(2)? & 0x0F,
                    code: *bytes.get(12)?,
                    qualifier: *bytes.get(13)?,
                    information: word(3).filter(|_| valid).map(u64::from),
                })
            }
            0x72 | 0x73 => {
                let mut information = None;
                let mut descriptors = bytes.get(8..)?;
                while let [kind, length, rest @ ..] = descriptors {
                    let (body, next) = rest.split_at_checked(usize::from(*length))?;
                    if let (0x00, [valid, _, value @ ..]) = (*kind, body)
                        && valid & 0x80 != 0
                    {
                        information = value.try_into().ok().map(u64::from_be_bytes);
                    }
                    descriptors = next;
                }
                Some(Self { key: bytes.get(1)? & 0x0F, code: *bytes.get(2)?, qualifier: *bytes.get(3)?, information })
            }
            _ => None,
        }
    }
}

impl fmt::Display for Sense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}/{:02x}/{:02x}", self.key, self.code, self.qualifier)?;
        match self.information {
            Some(information) => write!(f, " information {information:#x}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use hex_literal::hex;

    use super::*;

    #[test]
    fn both_formats() {
        let fixed = Sense::parse(&hex!("f0 00 0e 000001e5 0a 00000000 1d 00 00000000"));
        let expected = Sense { key: 0x0E, code: 0x1D, qualifier: 0, information: Some(0x1E5) };
        assert_eq!(fixed, Some(expected));
        assert_eq!(Sense::parse(&hex!("72 0e 1d 00 000000 0c 00 0a 80 00 00000000000001e5")), Some(expected));
        assert_eq!(expected.to_string(), "0e/1d/00 information 0x1e5");
        assert_eq!(
            Sense::parse(&hex!("70 00 05 00000000 0a 00000000 20 00")).and_then(|sense| sense.information),
            None
        );
        assert_eq!(Sense::parse(&[]), None);
        assert_eq!(Sense::parse(&[0x70, 0, 5]), None);
        assert_eq!(Sense::parse(&[0x72, 5, 0x20, 0, 0, 0, 0, 9, 0, 20]), None);
    }
}
