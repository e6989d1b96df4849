//! Jobs as administrators see them.

use crate::pools::record::{CheckRecord, ScrubRecord};
use jiff::Timestamp;
use pool::ReshareStep;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Kind of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobKind {
    /// Frees stored blocks of zeros.
    Reclaim,
    /// Shares blocks that a host has copied with the original again.
    Reshare,
    /// Reads and verifies all stored data.
    Scrub,
    /// Checks map, reference counts and counters.
    Check,
    /// Makes the content of a volume unreadable at the request of a host.
    Sanitize,
    /// Applies a plan of the configuration.
    Apply,
    /// Makes a support bundle.
    Bundle,
}

impl JobKind {
    /// All kinds.
    pub const ALL: [Self; 7] =
        [Self::Reclaim, Self::Reshare, Self::Scrub, Self::Check, Self::Sanitize, Self::Apply, Self::Bundle];

    /// Word of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reclaim => "reclaim",
            Self::Reshare => "reshare",
            Self::Scrub => "scrub",
            Self::Check => "check",
            Self::Sanitize => "sanitize",
            Self::Apply => "apply",
            Self::Bundle => "bundle",
        }
    }

    /// Unit of its progress.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Reclaim | Self::Reshare | Self::Scrub | Self::Sanitize => "bytes",
            Self::Check | Self::Apply | Self::Bundle => "steps",
        }
    }
}

/// State of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// The job works, or waits for its share of the time.
    Running,
    /// The job has finished.
    Done,
    /// The job has failed for this reason.
    Failed(String),
    /// An administrator has cancelled the job.
    Cancelled,
}

impl JobState {
    /// Word of the state.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Result of a job; of a running one, its result so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobReport {
    /// Result of a reclaim.
    Reclaim(ReclaimReport),
    /// Result of a reshare.
    Reshare(ReshareReport),
    /// Result of a scrub.
    Scrub(ScrubRecord),
    /// Result of a check; absent until it is finished.
    Check(Option<CheckRecord>),
    /// Result of a sanitize operation.
    Sanitize(SanitizeReport),
    /// The management plane has the result.
    Management,
}

/// Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobView {
    /// Id.
    pub id: Uuid,
    /// Kind.
    pub kind: JobKind,
    /// Name of the volume or pool.
    pub subject: String,
    /// State.
    pub state: JobState,
    /// Progress of `total`, in [`JobKind::unit`].
    pub done: u64,
    /// Total work as far as known.
    pub total: u64,
    /// Current units per second; absent until known, and at the end.
    pub rate_per_second: Option<u64>,
    /// Seconds until the end at that rate.
    pub eta_seconds: Option<u64>,
    /// Percent of the time while hosts are active.
    pub share_percent: u8,
    /// Start time.
    pub started: Timestamp,
    /// End time.
    pub finished: Option<Timestamp>,
    /// Result.
    pub report: JobReport,
    /// Short text of the result.
    pub summary: String,
}

/// Result of a reclaim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReclaimReport {
    /// Number of volumes scanned to their end.
    pub volumes: u64,
    /// Stored bytes scanned.
    pub scanned_bytes: u64,
    /// Bytes of zeros that volumes no longer map; they are free now, unless a snapshot keeps them.
    pub deallocated_bytes: u64,
}

/// Result of a reshare. All numbers count content of the volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReshareReport {
    /// Volume or snapshot whose blocks are shared, by its name at the start.
    pub with: String,
    /// Bytes from a place of the volume to the corresponding place there.
    pub shift_bytes: i64,
    /// True if blocks were compared and nothing was changed.
    pub compare_only: bool,
    /// Stored bytes considered.
    pub scanned_bytes: u64,
    /// Bytes whose content was compared, because the checksums are equal.
    pub compared_bytes: u64,
    /// Bytes that are shared now, or that would be.
    pub shared_bytes: u64,
    /// Bytes of these whose old place nothing else uses: free now, or then.
    pub freed_bytes: u64,
    /// Bytes that were shared before.
    pub already_bytes: u64,
    /// Bytes whose content is different although the checksums are equal.
    pub different_bytes: u64,
    /// Bytes that one of both cannot read, and that stay as they are.
    pub unreadable_bytes: u64,
}

impl ReshareReport {
    /// Adds the result of a step.
    pub(super) fn add(&mut self, step: &ReshareStep) {
        let sums = [
            (&mut self.scanned_bytes, step.scanned_bytes),
            (&mut self.compared_bytes, step.compared_bytes),
            (&mut self.shared_bytes, step.shared_bytes),
            (&mut self.freed_bytes, step.freed_bytes),
            (&mut self.already_bytes, step.already_bytes),
            (&mut self.different_bytes, step.different_bytes),
            (&mut self.unreadable_bytes, step.unreadable_bytes),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
    }
}

/// Result of a sanitize operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SanitizeReport {
    /// Write passes of an overwrite; absent for a block erase.
    pub passes: Option<u8>,
}
