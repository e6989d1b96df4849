//! Documents of sanitize operations.

use crate::record::Document;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Sanitize operation of a volume that survives a power loss (SBC-4 §4.11): in progress or failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SanitizeRecord {
    /// The volume.
    pub volume: Uuid,
    /// Overwrite parameters; absent for a block erase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<OverwriteRecord>,
    /// AUSE: EXIT FAILURE MODE ends the state after a failure.
    pub unrestricted_exit: bool,
    /// True if it has failed.
    pub failed: bool,
    /// Reason of the failure; also absent in documents of versions that stored none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Job that shows it; absent after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<SanitizeJob>,
}

impl SanitizeRecord {
    /// Record of a block erase of a volume.
    pub(crate) const fn of(volume: Uuid) -> Self {
        Self { volume, overwrite: None, unrestricted_exit: false, failed: false, reason: None, job: None }
    }
}

impl Document for SanitizeRecord {
    const PREFIX: &'static str = "sanitize/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.volume)
    }
}

/// Parameters of an overwrite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverwriteRecord {
    /// Write passes, 1 to 31.
    pub count: u8,
    /// True if the pattern is inverted from pass to pass.
    pub invert: bool,
    /// Pattern of 1 to 512 bytes, repeated in each logical block.
    pub pattern: Vec<u8>,
}

/// Identity of the job that shows an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SanitizeJob {
    /// Job id, stable across restarts.
    pub id: Uuid,
    /// First start of the operation.
    pub started: Timestamp,
}
