//! A line of the audit.

use identity::Digest;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Digest before the first line of all.
pub(super) const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Author of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Author {
    /// `user`, `token`, `local`, `stranger` or `system`.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Id of the user or token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Uuid>,
    /// User of a local process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// Object of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Target {
    /// Noun.
    pub kind: String,
    /// Id, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name.
    pub name: String,
}

/// Field before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Change(pub(crate) Value, pub(crate) Value);

/// A change that is about to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Intent {
    /// Author.
    pub who: Author,
    /// Name of the operation.
    pub action: String,
    /// Object.
    pub target: Target,
    /// Fields.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub change: BTreeMap<String, Change>,
}

/// Result of a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Number of the line with the intent.
    pub intent: u64,
    /// `done`, `refused` or `failed`.
    pub result: String,
    /// Code of the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Duration.
    pub duration_us: u64,
    /// Id of an object that was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Content of a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub(super) enum Record {
    /// A change that is about to be made.
    Intent(Intent),
    /// Its result.
    Outcome(Outcome),
    /// A file that was removed because of its age or of the size of all.
    Dropped {
        /// Its name.
        file: String,
        /// Digest of its last line.
        last: String,
    },
    /// The last line was not complete: the array stopped while it was written. It was removed.
    Repaired {
        /// Bytes that were removed.
        bytes: u64,
    },
}

/// Line of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    /// Number; that of the next line is one more.
    pub(super) seq: u64,
    /// Time.
    pub(super) time: Timestamp,
    /// SHA-256 of the line before, hexadecimal.
    pub(super) previous: String,
    /// Content.
    #[serde(flatten)]
    pub(super) record: Record,
}

/// SHA-256 of a line without its end, hexadecimal.
pub(super) fn digest(line: &str) -> String {
    Digest::of(line.as_bytes()).to_string()
}
