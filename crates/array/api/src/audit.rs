//! The audit: who changed what, when, from where, and with which result.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

/// Author of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditAuthor {
    /// `user`, `token`, `local` (a process on the administrative socket), `stranger` or `system`.
    pub kind: String,
    /// Name of the user or token; `uid:N` of a process.
    pub name: String,
    /// Id of the user or token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// User of a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// Object of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditTarget {
    /// Noun of the operation.
    pub kind: String,
    /// Id, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name; empty if the operation has none.
    pub name: String,
}

/// A field before and after a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditChange {
    /// Value before; `null` if there was none.
    #[schema(value_type = Object)]
    pub before: serde_json::Value,
    /// Value that was asked for, or after the change; secrets are `(secret)`.
    #[schema(value_type = Object)]
    pub after: serde_json::Value,
}

/// Entry of the audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// Number; later entries have larger ones. Not every number is that of an entry.
    pub seq: u64,
    /// Time.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// Author.
    pub who: AuditAuthor,
    /// Operation, as in `openapi.json`.
    pub action: String,
    /// Object.
    pub target: AuditTarget,
    /// Fields of the request, before and after.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub change: BTreeMap<String, AuditChange>,
    /// `done`, `refused`, `failed`, or `unknown` if the array stopped before there was a result.
    pub result: String,
    /// Code of the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Duration in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<u64>,
    /// SHA-256 of the line before this one in the file, hexadecimal.
    pub previous: String,
}

/// Part of the audit: entries that match every parameter, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// Maximum number of entries, 1 to 1000; default: 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<u32>,
    /// Only entries with smaller numbers, as in `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Only entries of this author, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// Only entries of this operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Only entries about this object, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Only entries from this time on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
    /// Only entries up to this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
}

/// Lines of the audit of a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditLines {
    /// Only lines from this time on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
    /// Only lines up to this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
}

/// Result of a verification of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditVerification {
    /// Lines that were read.
    pub lines: u64,
    /// True if each line has the digest of the one before it, and none is missing between two.
    pub ok: bool,
    /// File and line number of the first line that does not fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_bad: Option<String>,
}
