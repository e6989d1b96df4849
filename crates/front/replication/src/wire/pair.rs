//! Messages of a pairing. Both certificates are those of the TLS session; name and identity are in the hello.

use crate::wire::error::WireError;
use crate::wire::json;
use crate::wire::kind::Kind;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Longest name of an invitation that is read.
const MAX_HANDLE_BYTES: usize = 16;

/// Proof of a joiner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// Name of the invitation.
    pub handle: String,
    /// Proof, 32 bytes.
    pub proof: [u8; 32],
}

/// Proof of an inviter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// Proof, 32 bytes.
    pub proof: [u8; 32],
}

impl Join {
    pub(super) fn encode(&self) -> Bytes {
        json::encode(self)
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self, WireError> {
        let join: Self = json::decode(Kind::JOIN, payload)?;
        match join.handle.len() <= MAX_HANDLE_BYTES {
            true => Ok(join),
            false => Err(WireError::Payload { kind: Kind::JOIN, what: "no invitation has such a name" }),
        }
    }
}

impl Joined {
    pub(super) fn encode(&self) -> Bytes {
        json::encode(self)
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self, WireError> {
        json::decode(Kind::JOINED, payload)
    }
}
