//! CHAP as iSCSI uses it, RFC 7143 §12.1.3 and RFC 1994: the response is H(identifier ‖ secret ‖ challenge).

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use sha3::Sha3_256;
use subtle::ConstantTimeEq;

/// Longest challenge or response accepted, in bytes (RFC 7143 §12.1.3).
pub const MAX_BINARY_BYTES: usize = 1024;
/// Length of the challenges generated here, in bytes.
pub const CHALLENGE_BYTES: usize = 32;

/// Hash function of a CHAP exchange; the number is the value of `CHAP_A` (RFC 7143 §12.1.3, IANA PPP registry).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// MD5, 5.
    Md5,
    /// SHA-1, 6.
    Sha1,
    /// SHA-256, 7.
    Sha256,
    /// SHA3-256, 8.
    Sha3_256,
}

impl Algorithm {
    /// Every algorithm, strongest first.
    pub const ALL: [Self; 4] = [Self::Sha3_256, Self::Sha256, Self::Sha1, Self::Md5];

    /// Value of `CHAP_A`.
    pub const fn number(self) -> u8 {
        match self {
            Self::Md5 => 5,
            Self::Sha1 => 6,
            Self::Sha256 => 7,
            Self::Sha3_256 => 8,
        }
    }

    /// Algorithm with this value of `CHAP_A`; `None` when it is not supported.
    pub fn from_text(text: &str) -> Option<Self> {
        let number = crate::text::number(text)?;
        Self::ALL.into_iter().find(|algorithm| u64::from(algorithm.number()) == number)
    }

    /// H(identifier ‖ secret ‖ challenge).
    pub fn response(self, identifier: u8, secret: &[u8], challenge: &[u8]) -> Vec<u8> {
        fn hash<H: Digest>(identifier: u8, secret: &[u8], challenge: &[u8]) -> Vec<u8> {
            H::new().chain_update([identifier]).chain_update(secret).chain_update(challenge).finalize().to_vec()
        }
        match self {
            Self::Md5 => hash::<Md5>(identifier, secret, challenge),
            Self::Sha1 => hash::<Sha1>(identifier, secret, challenge),
            Self::Sha256 => hash::<Sha256>(identifier, secret, challenge),
            Self::Sha3_256 => hash::<Sha3_256>(identifier, secret, challenge),
        }
    }

    /// Whether `response` is correct. The comparison takes constant time.
    pub fn verify(self, identifier: u8, secret: &[u8], challenge: &[u8], response: &[u8]) -> bool {
        self.response(identifier, secret, challenge).ct_eq(response).into()
    }
}

/// A CHAP name and its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Value of `CHAP_N`.
    pub name: String,
    /// Secret; RFC 7143 §9.2.1 requires at least 12 bytes.
    pub secret: Vec<u8>,
}

impl Credentials {
    /// Creates credentials from name and secret.
    pub fn new(name: impl Into<String>, secret: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), secret: secret.into() }
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Source of challenges and identifiers: SHA-256(seed ‖ counter). They are as unpredictable as the
/// seed, and none is repeated.
#[derive(Clone)]
pub(crate) struct ChallengeSource {
    seed: [u8; 32],
    counter: u64,
}

impl ChallengeSource {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { seed, counter: 0 }
    }

    fn next_block(&mut self) -> [u8; 32] {
        self.counter += 1;
        Sha256::new().chain_update(self.seed).chain_update(self.counter.to_be_bytes()).finalize().into()
    }

    /// Returns a new identifier and challenge.
    pub(crate) fn challenge(&mut self) -> (u8, [u8; CHALLENGE_BYTES]) {
        let [identifier, ..] = self.next_block();
        (identifier, self.next_block())
    }
}

impl std::fmt::Debug for ChallengeSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChallengeSource").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use hex_literal::hex;

    use super::*;

    /// Digests computed with another implementation of the hash functions (OpenSSL).
    #[test]
    fn responses_match_known_digests() {
        let challenge = hex!("000102030405060708090a0b0c0d0e0f");
        let cases: [(Algorithm, &[u8]); 4] = [
            (Algorithm::Md5, &hex!("54d49338a27b0c1dd5e935c21ab005a3")),
            (Algorithm::Sha1, &hex!("b060c80c0e004a388193dd4b911b5a400ca2b931")),
            (Algorithm::Sha256, &hex!("2076dab09b25dfe7f89cdb79aa854cf8af88246b80126a0856a426662b39d903")),
            (Algorithm::Sha3_256, &hex!("1e1bc4b940a438823a7ab5862e223043f6f65ee8148abe3310f5b7de30b8aa95")),
        ];
        for (algorithm, expected) in cases {
            assert_eq!(algorithm.response(0x2A, b"secretsecret", &challenge), expected, "{algorithm:?}");
            assert!(algorithm.verify(0x2A, b"secretsecret", &challenge, expected));
            assert!(!algorithm.verify(0x2B, b"secretsecret", &challenge, expected));
            assert!(!algorithm.verify(0x2A, b"secretsecret", &challenge, &[]));
        }
    }

    #[test]
    fn algorithm_numbers() {
        assert_eq!(Algorithm::from_text("5"), Some(Algorithm::Md5));
        assert_eq!(Algorithm::from_text("0x7"), Some(Algorithm::Sha256));
        assert_eq!(Algorithm::from_text("9"), None);
        assert_eq!(Algorithm::from_text(""), None);
    }

    #[test]
    fn challenges_never_repeat() {
        let mut source = ChallengeSource::new([7; 32]);
        let first = source.challenge();
        assert_ne!(first, source.challenge());
        assert_ne!(first, ChallengeSource::new([8; 32]).challenge());
    }

    #[test]
    fn secrets_are_not_printed() {
        assert!(!format!("{:?}", Credentials::new("esx01", "a-long-secret")).contains("a-long-secret"));
    }
}
