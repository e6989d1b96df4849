//! SHA-256 of a secret, or of a line of the audit.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt::{self, Write};
use subtle::ConstantTimeEq;

/// SHA-256 of a secret with 256 random bits, or of a text that is public. Its text is hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// Digest of a secret or text.
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// Compares in a time that does not depend on the digests.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Digest(…)")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        bytes(&text).map(Self).ok_or_else(|| format!("a digest has 64 hexadecimal digits, and this has {}", text.len()))
    }
}

/// Lower-case hexadecimal text.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

/// Bytes of a hexadecimal text of the right length.
pub(crate) fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != N * 2 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn a_digest_has_one_text() {
        // FIPS 180-4, example "abc".
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned();
        let digest = Digest::try_from(text.clone());
        assert_eq!(digest.as_ref().map(ToString::to_string), Ok(text));
        assert!(digest.is_ok_and(|digest| digest.matches(&Digest::of(b"abc")) && !digest.matches(&Digest::of(b"abd"))));
        for wrong in ["", "ba", &"g".repeat(64), &"+1".repeat(32)] {
            assert!(Digest::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
