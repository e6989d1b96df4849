//! Proofs that an end knows the secret of a pairing code.

use crate::pairing::code::Secret;
use crate::pairing::fingerprint::Fingerprint;
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// Label for the exporter of TLS (RFC 8446 §7.5), without context.
pub const EXPORTER_LABEL: &[u8] = b"EXPORTER-windlass-pairing-1";
/// Bytes of the exporter.
pub const EXPORTER_BYTES: usize = 32;

/// Role of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It has made the code.
    Inviter,
    /// It was given the code.
    Joiner,
}

impl Role {
    /// What its proofs begin with. No label is the beginning of another.
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Inviter => b"windlass pairing 1 inviter:",
            Self::Joiner => b"windlass pairing 1 joiner:",
        }
    }
}

/// What a proof belongs to: one TLS session between two certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// Exporter of the session.
    pub exporter: [u8; EXPORTER_BYTES],
    /// Certificate of the inviter.
    pub inviter: Fingerprint,
    /// Certificate of the joiner.
    pub joiner: Fingerprint,
}

/// Proof: HMAC-SHA-256 with the secret as its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Proof(pub [u8; 32]);

fn mac(secret: &Secret, role: Role, session: &Session) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "keys of HMAC have any length (RFC 2104)")]
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).expect("any length is fine");
    for part in [role.label(), &session.exporter, &session.inviter.0, &session.joiner.0] {
        mac.update(part);
    }
    mac
}

/// The proof of a role.
pub(super) fn prove(secret: &Secret, role: Role, session: &Session) -> Proof {
    Proof(mac(secret, role, session).finalize().into_bytes().into())
}

/// Whether a proof is that of a role, in constant time.
pub(super) fn verify(secret: &Secret, role: Role, session: &Session, proof: &Proof) -> bool {
    mac(secret, role, session).verify_slice(&proof.0).is_ok()
}
