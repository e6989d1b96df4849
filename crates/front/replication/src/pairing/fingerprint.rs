//! Fingerprints of certificates.

use crate::pairing::base32;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Bytes of a fingerprint in a pairing code.
pub(super) const SHORT_BYTES: usize = 16;

/// SHA-256 of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// Fingerprint of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }

    /// The first 128 bits, which are in a pairing code.
    pub(super) fn short(&self) -> [u8; SHORT_BYTES] {
        let mut short = [0; SHORT_BYTES];
        short.iter_mut().zip(self.0).for_each(|(to, from)| *to = from);
        short
    }

    /// The first 128 bits as the letters of a pairing code.
    pub fn letters(&self) -> String {
        base32::encode(&self.short())
    }
}
