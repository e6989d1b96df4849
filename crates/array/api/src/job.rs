//! Jobs: what takes longer than a second and goes on in the background.

use crate::{CheckReport, ScrubReport};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A job. Jobs that ended are kept until the array restarts, the last hundred.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// Identity.
    pub id: Uuid,
    /// `reclaim`, `scrub`, `check` or `sanitize`.
    pub kind: String,
    /// Volume or pool, by name.
    pub subject: String,
    /// Where it is in its life.
    pub state: JobState,
    /// What was done, of `total`.
    pub done: u64,
    /// What there is to do, as far as it is known.
    pub total: u64,
    /// What both are counted in: `bytes` or `steps`.
    pub unit: String,
    /// Units per second at present; `null` until that is known, and once it has ended.
    pub rate_per_second: Option<u64>,
    /// Seconds to the end at that rate.
    pub eta_seconds: Option<u64>,
    /// Share of time in percent that it takes while hosts are active; otherwise it takes all. 100 for `sanitize`, which has a pace of its own.
    pub share_percent: u8,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub started: Timestamp,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished: Option<Timestamp>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a reclaim did, so far while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaim: Option<ReclaimReport>,
    /// What a scrub found, so far while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrub: Option<ScrubReport>,
    /// What a check found, once it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckReport>,
    /// What a sanitize operation does. A host began it; it goes on until it is done, and cannot be cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sanitize: Option<SanitizeReport>,
}

/// What a sanitize operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SanitizeReport {
    /// How content is made unreadable.
    pub method: SanitizeMethod,
    /// Write passes of an overwrite; `null` for a block erase.
    pub passes: Option<u8>,
}

/// How content is made unreadable (SBC-4 §4.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SanitizeMethod {
    /// Everything is deallocated.
    BlockErase,
    /// A pattern is written over it.
    Overwrite,
}

/// Where a job is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// It works.
    Running,
    /// It came to its end.
    Done,
    /// It ended before.
    Failed,
    /// An administrator ended it.
    Cancelled,
}

/// Starts a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobStart {
    /// Share of time in percent while hosts are active, 1 to 100; as configured when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_percent: Option<u8>,
}

/// Changes a running job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSet {
    /// Share of time in percent while hosts are active, 1 to 100.
    pub share_percent: u8,
}

/// What a reclaim did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReclaimReport {
    /// Volumes looked at to their end.
    pub volumes: u64,
    /// Stored bytes that were looked at.
    pub scanned_bytes: u64,
    /// Bytes of zeros that are not stored any more; free, unless a snapshot keeps them.
    pub deallocated_bytes: u64,
}
