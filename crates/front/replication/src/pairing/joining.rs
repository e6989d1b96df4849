//! The joiner's side.

use crate::pairing::code::PairingCode;
use crate::pairing::fingerprint::Fingerprint;
use crate::pairing::proof::{Proof, Role, Session, prove, verify};
use crate::refusal::{Code, Refusal};
use crate::wire::{Join, Joined};

/// A joiner that uses a pairing code.
#[derive(Debug)]
pub struct Joining {
    code: PairingCode,
}

impl Joining {
    /// Uses a code.
    pub const fn new(code: PairingCode) -> Self {
        Self { code }
    }

    /// Verifies the certificate that the other end has presented, before anything is sent to it.
    ///
    /// [`Code::WrongCertificate`]: the other end is not the array that made the code.
    pub fn verify_inviter(&self, certificate: &Fingerprint) -> Result<(), Refusal> {
        if self.code.is_of(certificate) {
            return Ok(());
        }
        let (address, found) = (self.code.address().as_str(), certificate.letters());
        let sentence = format!("the array at {address} is not the one that made the code: its certificate is {found}");
        Err(Refusal::new(Code::WrongCertificate, sentence))
    }

    /// The message with the proof.
    pub fn join(&self, session: &Session) -> Result<Join, Refusal> {
        self.verify_inviter(&session.inviter)?;
        let proof = prove(self.code.secret(), Role::Joiner, session);
        Ok(Join { handle: self.code.handle().0.clone(), proof: proof.0 })
    }

    /// Verifies the answer. Only then is the inviter a peer.
    ///
    /// [`Code::WrongProof`]: the other end does not know the secret.
    pub fn conclude(self, session: &Session, joined: &Joined) -> Result<(), Refusal> {
        self.verify_inviter(&session.inviter)?;
        match verify(self.code.secret(), Role::Inviter, session, &Proof(joined.proof)) {
            true => Ok(()),
            false => {
                Err(Refusal::new(Code::WrongProof, "the other array does not know the secret of the pairing code"))
            }
        }
    }
}
