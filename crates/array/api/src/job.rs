//! Jobs: long operations that run in the background.

use crate::{CheckReport, ScrubReport};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A job. The array keeps the last hundred jobs that ended, until it restarts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// Identity.
    pub id: Uuid,
    /// `reclaim`, `reshare`, `scrub`, `check` or `sanitize`.
    pub kind: String,
    /// Name of the volume or pool.
    pub subject: String,
    /// State of the job.
    pub state: JobState,
    /// Amount of work done so far, out of `total`.
    pub done: u64,
    /// Amount of work in total, as far as it is known.
    pub total: u64,
    /// Unit of `done` and `total`: `bytes` or `steps`.
    pub unit: String,
    /// Present rate in units per second; `null` until it is known, and after the end of the job.
    pub rate_per_second: Option<u64>,
    /// Estimated seconds until the end at that rate.
    pub eta_seconds: Option<u64>,
    /// Share of time in percent that the job may use while hosts are active; without activity it
    /// uses all of it. 100 for `sanitize`, which controls its own pace.
    pub share_percent: u8,
    /// Time of the start.
    #[schema(value_type = String, format = DateTime)]
    pub started: Timestamp,
    /// Time of the end.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished: Option<Timestamp>,
    /// Cause of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Results of a reclaim, up to now while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaim: Option<ReclaimReport>,
    /// Results of a reshare, up to now while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reshare: Option<ReshareReport>,
    /// Results of a scrub, up to now while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrub: Option<ScrubReport>,
    /// Results of a check, after its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckReport>,
    /// Parameters of a sanitize operation. A host started it; it runs to its end and cannot be
    /// cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sanitize: Option<SanitizeReport>,
}

/// Parameters of a sanitize operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SanitizeReport {
    /// Method of the operation.
    pub method: SanitizeMethod,
    /// Number of write passes of an overwrite; `null` for a block erase.
    pub passes: Option<u8>,
}

/// Method of a sanitize operation (SBC-4 §4.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SanitizeMethod {
    /// Deallocates all blocks.
    BlockErase,
    /// Overwrites all blocks with a pattern.
    Overwrite,
}

/// State of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// The job is running.
    Running,
    /// The job reached its end.
    Done,
    /// The job ended early because of an error.
    Failed,
    /// An administrator cancelled the job.
    Cancelled,
}

/// Request to start a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobStart {
    /// Share of time in percent while hosts are active, 1 to 100; default: the configured share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 100)]
    pub share_percent: Option<u8>,
}

/// Request to share blocks of a volume with equal ones of another volume or of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumeReshare {
    /// Volume by name or id, or snapshot as `VOLUME@SNAPSHOT`; the volume itself only with an offset.
    pub with: String,
    /// Bytes from a place of the volume to the place there that has the same content, a multiple of 4096; negative if
    /// that one is nearer to the start.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset_bytes: i64,
    /// True: compares the content and tells the gain, and changes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compare_only: bool,
    /// Share of time in percent while hosts are active, 1 to 100; default: the configured share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 100)]
    pub share_percent: Option<u8>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(bytes: &i64) -> bool {
    *bytes == 0
}

/// Request to change a running job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSet {
    /// Share of time in percent while hosts are active, 1 to 100.
    #[schema(maximum = 100)]
    pub share_percent: u8,
}

/// Results of a reclaim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReclaimReport {
    /// Number of volumes scanned completely.
    pub volumes: u64,
    /// Stored bytes scanned.
    pub scanned_bytes: u64,
    /// Bytes of zeros that are no longer stored; they are free unless a snapshot keeps them.
    pub deallocated_bytes: u64,
}

/// Results of a reshare. All numbers count content of the volume, in units of 4 KiB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReshareReport {
    /// Volume or snapshot whose blocks are shared, by its name at the start.
    pub with: String,
    /// Bytes from a place of the volume to the corresponding place there.
    pub offset_bytes: i64,
    /// True if content was compared and nothing was changed.
    pub compare_only: bool,
    /// Stored bytes considered.
    pub scanned_bytes: u64,
    /// Bytes whose content was compared, because the checksums are equal.
    pub compared_bytes: u64,
    /// Bytes that are shared now, or that would be.
    pub shared_bytes: u64,
    /// Bytes of these whose old place nothing else uses: free now, or then. Snapshots and clones of the volume keep
    /// the others.
    pub freed_bytes: u64,
    /// Bytes that were shared before.
    pub already_bytes: u64,
    /// Bytes whose content is different although the checksums are equal.
    pub different_bytes: u64,
    /// Bytes that one of both cannot read, and that stay as they are.
    pub unreadable_bytes: u64,
}
