//! Invitations that an array has given out.

use crate::pairing::code::{self, Address, Handle, PairingCode, SECRET_BYTES, Secret};
use crate::pairing::fingerprint::Fingerprint;
use crate::pairing::proof::{Proof, Role, Session, prove, verify};
use crate::refusal::{Code, Refusal};
use crate::wire::{Join, Joined};
use std::time::Duration;
use thiserror::Error;

/// Time for which an invitation is good.
pub const LIFETIME: Duration = Duration::from_secs(15 * 60);
/// Wrong proofs after which an invitation is void.
pub const MAX_WRONG_PROOFS: u32 = 5;
/// Most invitations at a time.
pub const MAX_INVITATIONS: usize = 16;
/// Random bytes that an invitation needs.
pub const RANDOM_BYTES: usize = 3 + SECRET_BYTES;

/// There are [`MAX_INVITATIONS`] invitations that are still good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{MAX_INVITATIONS} invitations are still good; each ends after it was used, or after 15 minutes")]
pub struct TooManyInvitations;

#[derive(Debug)]
struct Invitation {
    handle: Handle,
    secret: Secret,
    ends: Duration,
    wrong_proofs: u32,
}

/// The invitations of an array that are still good.
#[derive(Debug, Default)]
pub struct Invitations {
    open: Vec<Invitation>,
}

impl Invitations {
    /// Makes an invitation from random bytes of the operating system.
    pub fn invite(
        &mut self,
        now: Duration,
        address: Address,
        own: &Fingerprint,
        random: [u8; RANDOM_BYTES],
    ) -> Result<PairingCode, TooManyInvitations> {
        self.handle_instant(now);
        if self.open.len() >= MAX_INVITATIONS {
            return Err(TooManyInvitations);
        }
        let [a, b, c, secret @ ..] = random;
        let (handle, secret) = (code::handle([a, b, c]), Secret(secret));
        // Two of one name cannot be told apart; the older one ends.
        self.open.retain(|open| open.handle != handle);
        let ends = now.saturating_add(LIFETIME);
        self.open.push(Invitation { handle: handle.clone(), secret: secret.clone(), ends, wrong_proofs: 0 });
        Ok(PairingCode::new(address, own, handle, secret))
    }

    /// Verifies the proof of a joiner. With the right one the invitation is used up, and the answer to the joiner is
    /// returned; the caller stores the peer before it sends it.
    ///
    /// * [`Code::InvitationUnknown`]: used, expired, void after wrong proofs, or never made.
    /// * [`Code::WrongProof`]: the proof is not that of the code in this session.
    pub fn accept(&mut self, now: Duration, join: &Join, session: &Session) -> Result<Joined, Refusal> {
        self.handle_instant(now);
        let Some(at) = self.open.iter().position(|open| open.handle.0 == join.handle) else {
            let sentence = "there is no such invitation: it was used, has expired, or ended after wrong proofs";
            return Err(Refusal::new(Code::InvitationUnknown, sentence));
        };
        let mut invitation = self.open.swap_remove(at);
        let proof = Proof(join.proof);
        if verify(&invitation.secret, Role::Joiner, session, &proof) {
            let proof = prove(&invitation.secret, Role::Inviter, session);
            return Ok(Joined { proof: proof.0 });
        }
        invitation.wrong_proofs += 1;
        let left = MAX_WRONG_PROOFS.saturating_sub(invitation.wrong_proofs);
        if left > 0 {
            self.open.push(invitation);
        }
        let sentence = format!("the proof is not that of the pairing code; after {left} more, the invitation ends");
        Err(Refusal::new(Code::WrongProof, sentence))
    }

    /// An instant: ends what has expired.
    pub fn handle_instant(&mut self, now: Duration) {
        self.open.retain(|open| now < open.ends);
    }

    /// Ends all invitations.
    pub fn withdraw(&mut self) {
        self.open.clear();
    }

    /// Number of invitations, of which some may have expired since the last instant.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}
