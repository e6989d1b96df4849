//! Problem documents, RFC 9457: the body of every response with a status of 400 or above.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A problem document (`application/problem+json`). Programs read `code`, which is stable; people
/// read `detail` and `help`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// URI of the kind of problem: `urn:windlass:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// Kind of problem in a few words.
    pub title: String,
    /// HTTP status, as in the response.
    pub status: u16,
    /// Description of this occurrence, in a sentence.
    pub detail: String,
    /// Stable name of the condition, such as `in-use`.
    pub code: String,
    /// Recommended action in terms of the resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Names that the condition and its help are about, such as `noun` and `name` of the resource.
    /// With `code` they are all that a client needs for its own wording.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Users of the resource, if they are the cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<User>,
    /// Bytes that the request needed, if space is the cause and the need is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_bytes: Option<u64>,
    /// Bytes that were available, if space is the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_bytes: Option<u64>,
    /// Fields of the request that are at fault, where the condition is about one field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldProblem>,
    /// The object as it is, if it has changed since the client read it (`changed-meanwhile`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub present: Option<serde_json::Value>,
}

/// A field of a request that is at fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldProblem {
    /// Name of the field.
    pub field: String,
    /// What is wrong with it, in a sentence.
    pub message: String,
}

/// A user of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    /// `access`, `session`, `snapshot` or `host-group`.
    pub kind: String,
    /// Description for people: a host and its LUN, an initiator and its address, a snapshot's name.
    pub description: String,
}
