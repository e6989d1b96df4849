//! Hello: the protocols and features of an end, and what both have in common.

use crate::names::{ArrayId, Name};
use crate::refusal::{Code, Refusal};
use crate::wire::error::WireError;
use crate::wire::json;
use crate::wire::kind::Kind;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Most features that an end may name.
const MAX_FEATURES: usize = 64;

/// Protocols that an end speaks, from the oldest to the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protocols {
    /// Oldest.
    pub min: u32,
    /// Newest.
    pub max: u32,
}

impl Protocols {
    /// What this release speaks.
    pub const OURS: Self = Self { min: 1, max: 1 };
}

/// Feature: a word. Unknown ones are kept, and are in no agreement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Feature(pub String);

impl Feature {
    /// Comparison of a common point by hashes of leaves.
    pub fn verify() -> Self {
        Self("verify".to_owned())
    }
}

/// The first message of each end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Protocols.
    pub protocols: Protocols,
    /// Identity of the array.
    pub array: ArrayId,
    /// Name of the array, for people.
    pub name: Name,
    /// Release, for people.
    pub release: Name,
    /// Features.
    #[serde(default)]
    pub features: BTreeSet<Feature>,
}

impl Hello {
    pub(super) fn encode(&self) -> Bytes {
        json::encode(self)
    }

    pub(super) fn decode(payload: &[u8]) -> Result<Self, WireError> {
        let hello: Self = json::decode(Kind::HELLO, payload)?;
        let error = |what| Err(WireError::Payload { kind: Kind::HELLO, what });
        if hello.protocols.min > hello.protocols.max {
            return error("its newest protocol is older than its oldest");
        }
        match hello.features.len() > MAX_FEATURES {
            true => error("it names too many features"),
            false => Ok(hello),
        }
    }
}

/// What both ends speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// Protocol.
    pub protocol: u32,
    /// Features that both have.
    pub features: BTreeSet<Feature>,
}

/// Finds the newest protocol and the features that both ends have.
///
/// [`Code::PeerTooOld`] or [`Code::PeerTooNew`] if there is no such protocol.
pub fn agree(own: &Hello, peer: &Hello) -> Result<Agreed, Refusal> {
    let (ours, theirs) = (own.protocols, peer.protocols);
    let range = format!(
        "{} (release {}) speaks protocols {} to {}, and {} (release {}) {} to {}",
        peer.name, peer.release, theirs.min, theirs.max, own.name, own.release, ours.min, ours.max
    );
    if theirs.max < ours.min {
        return Err(Refusal::new(Code::PeerTooOld, format!("{range}: {} needs a newer release", peer.name)));
    }
    if theirs.min > ours.max {
        return Err(Refusal::new(Code::PeerTooNew, format!("{range}: {} needs a newer release", own.name)));
    }
    let features = own.features.intersection(&peer.features).cloned().collect();
    Ok(Agreed { protocol: ours.max.min(theirs.max), features })
}
