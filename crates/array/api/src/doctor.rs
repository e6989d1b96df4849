//! Examination of the array and its machine.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// Nothing to be done.
    Ok,
    /// Works, and should be mended.
    Warning,
    /// Hosts or administrators are, or will soon be, without what they need.
    Fail,
}

/// Something that was looked at, and how it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Examined {
    /// Stable name of the check.
    pub check: String,
    /// How it is.
    pub state: CheckState,
    /// What was found, in a sentence.
    pub finding: String,
    /// What mends it, in words; absent if nothing has to be mended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Commands for it, in order, with the names of this array. Words in capitals are to be replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}
