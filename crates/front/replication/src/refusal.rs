//! Why an array refuses what its peer sends or what an administrator asks for: a code for programs, a sentence for
//! people.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest sentence that is sent or accepted, in bytes.
const MAX_SENTENCE_BYTES: usize = 1024;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $text:literal,)*) => {
        /// Code of a refusal. One that this release does not know is kept as it came.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum Code {
            $($(#[$doc])* $variant,)*
            /// A code of another release.
            Other(String),
        }

        impl Code {
            /// All codes of this release.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }
        }

        impl From<String> for Code {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($text => Self::$variant,)*
                    _ => Self::Other(bounded(text)),
                }
            }
        }
    };
}

codes! {
    /// The peer's newest protocol is older than our oldest.
    PeerTooOld "peer-too-old",
    /// The peer's oldest protocol is newer than our newest.
    PeerTooNew "peer-too-new",
    /// Bytes that are no frame or message.
    Malformed "malformed",
    /// A checksum does not fit.
    Corrupt "corrupt",
    /// A type of message that is not known.
    UnknownMessage "unknown-message",
    /// Use of a feature that both sides have not agreed on.
    FeatureNotAgreed "feature-not-agreed",
    /// A message that does not belong here: twice, too early, or after the end.
    Unexpected "unexpected",
    /// Changes that do not ascend through the group.
    OutOfOrder "out-of-order",
    /// A copy from a place that may still change (rule R3).
    NotFinal "not-final",
    /// A place that is not in the group.
    OutsideGroup "outside-group",
    /// More unacknowledged bytes than the window.
    WindowExceeded "window-exceeded",
    /// No such group with this peer.
    UnknownGroup "unknown-group",
    /// A cycle that is older than one that has been received.
    OlderCycle "older-cycle",
    /// An epoch that is over.
    OlderEpoch "older-epoch",
    /// Both arrays own the group.
    BothOwners "both-owners",
    /// Both arrays have a replica of the group.
    NoOwner "no-owner",
    /// An owner was asked for what only a replica can do.
    NotReplica "not-replica",
    /// A replica was asked for what only an owner can do.
    NotOwner "not-owner",
    /// No common point is left.
    MustSeed "must-seed",
    /// No such recovery point.
    NoSuchPoint "no-such-point",
    /// The point is needed for replication (rule R5).
    CommonPoint "common-point",
    /// The group has as many points as it may have.
    TooManyPoints "too-many-points",
    /// The owner is reachable and in use.
    OwnerInUse "owner-in-use",
    /// The pool has no room.
    NoSpace "no-space",
    /// The pairing code was used, has expired, or is none of this array.
    InvitationUnknown "invitation-unknown",
    /// The proof of a pairing is wrong.
    WrongProof "wrong-proof",
    /// The certificate is not that of the pairing code.
    WrongCertificate "wrong-certificate",
    /// Another connection for the group has taken the place of this one.
    Superseded "superseded",
    /// The store has failed.
    StoreFailed "store-failed",
}

/// Refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Code, stable.
    pub code: Code,
    /// Sentence for people, without control characters.
    #[serde(deserialize_with = "sentence")]
    pub sentence: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(code: Code, sentence: impl Into<String>) -> Self {
        Self { code, sentence: bounded(sentence.into()) }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} ({})", self.sentence, self.code.as_str())
    }
}

impl From<Code> for String {
    fn from(code: Code) -> Self {
        code.as_str().to_owned()
    }
}

/// A text of limited length without control characters: it is shown to people.
fn bounded(text: String) -> String {
    let mut text: String = text.chars().filter(|character| !character.is_control()).collect();
    if text.len() > MAX_SENTENCE_BYTES {
        let end = (0..=MAX_SENTENCE_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

fn sentence<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(bounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_other_releases_survive() {
        for code in Code::ALL {
            assert_eq!(Code::from(code.as_str().to_owned()), *code);
        }
        assert_eq!(String::from(Code::from("too-loud".to_owned())), "too-loud");
    }

    #[test]
    fn what_a_peer_says_is_short_and_printable() {
        let long = format!("{{\"code\":\"x\\u001b\",\"sentence\":\"{}\\u0007\"}}", "ü".repeat(4000));
        let refusal: Refusal = serde_json::from_str(&long).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(refusal.code.as_str(), "x");
        assert_eq!(refusal.sentence.len(), MAX_SENTENCE_BYTES);
        assert!(!refusal.sentence.contains('\u{7}'));
    }
}
