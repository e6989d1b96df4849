//! Pairing of two arrays by a code that an administrator carries from one to the other.
//!
//! The *inviter* makes a code (`WL1-ADDRESS-FINGERPRINT-SECRET`), which is good once and for 15 minutes. The *joiner*
//! connects to the address by TLS 1.3, accepts only the certificate with that fingerprint, and presents its own. Then
//! both prove the secret, the joiner first, and from then on each pins the whole fingerprint of the other.
//!
//! A proof is an HMAC over the exporter of the TLS session, the role of its maker and both certificates. So it is of
//! no use in another session, in the other direction, or for other certificates. The inviter sends its proof only
//! after it has verified that of the joiner: who does not know the secret receives nothing to try secrets on.
//!
//! Invitations are in memory alone: a restart of the array ends them.

mod base32;
mod code;
mod fingerprint;
mod invitations;
mod joining;
mod proof;
#[cfg(test)]
mod tests;

pub use code::{Address, AddressError, CodeError, PairingCode};
pub use fingerprint::Fingerprint;
pub use invitations::{Invitations, LIFETIME, MAX_INVITATIONS, MAX_WRONG_PROOFS, RANDOM_BYTES, TooManyInvitations};
pub use joining::Joining;
pub use proof::{EXPORTER_BYTES, EXPORTER_LABEL, Proof, Role, Session};
