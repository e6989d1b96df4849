//! Problem documents, RFC 9457: the body of every response whose status is 400 or above.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A problem document (`application/problem+json`). Programs look at `code`, which is stable; people read `detail` and `help`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A URI that names the kind of problem: `urn:windlass:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of problem in a few words.
    pub title: String,
    /// The HTTP status, again.
    pub status: u16,
    /// What happened, in a sentence.
    pub detail: String,
    /// Stable name of the condition, such as `in-use`.
    pub code: String,
    /// What to do about it: a command or a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Who uses the resource, when that is the problem.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<User>,
    /// Bytes the request needed, when space is the problem and the need is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_bytes: Option<u64>,
    /// Bytes there were, when space is the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_bytes: Option<u64>,
}

/// Something that uses a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    /// `access`, `session` or `snapshot`.
    pub kind: String,
    /// Which one, for people: a host and its LUN, an initiator and its address, a snapshot's name.
    pub description: String,
}
