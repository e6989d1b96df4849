//! The laboratory on the array: cases, runs, and the lines that a run reports.
//!
//! A run executes `windlass lab run --progress json`, which prints one [`LabProgress`] a line.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A case of the laboratory: a test of a vendor's white paper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LabCase {
    /// Name, such as `clone-template`.
    pub name: String,
    /// Description in one line.
    pub title: String,
    /// What the off side does without, such as `EXTENDED COPY`.
    pub needs: Vec<String>,
    /// Paper and test, such as `P1, XCOPY 1`.
    pub test: String,
    /// Array and host of the paper.
    pub system: String,
    /// Findings of the paper in words.
    pub finding: String,
    /// Reason for which the array does not run it; absent: it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// Request to run cases on scratch volumes of the array.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LabRunCreate {
    /// Names of cases, each once, in the order in which they run.
    pub cases: Vec<String>,
    /// `small` (a minute a case at most), `paper` (the sizes of the papers), or the size of the largest disk, such as
    /// `512M`; absent: `small`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Rounds with the primitive off and on, 1 to 100; absent: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub pairs: Option<u32>,
    /// The run ends when the p99 of other volumes and shares is above this many microseconds for three seconds;
    /// absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub stop_when_host_p99_us: Option<u64>,
}

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LabRunState {
    /// It prepares, measures, or removes its scratch volumes.
    Running,
    /// It reached its end; cases may have failed.
    Done,
    /// It ended early; `reason` says why.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// Results that were measured elsewhere.
    Uploaded,
}

/// Side of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LabSide {
    /// The host does the work.
    Off,
    /// The array does it.
    On,
}

/// A run of the laboratory. The array keeps the last twenty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LabRun {
    /// Number; a later run has a higher one.
    pub id: u64,
    /// State.
    pub state: LabRunState,
    /// Names of its cases.
    pub cases: Vec<String>,
    /// `small`, `paper`, or the size of the largest disk in bytes as text.
    pub size: String,
    /// Rounds with the primitive off and on.
    pub pairs: u32,
    /// Limit of the p99 of other volumes and shares in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_when_host_p99_us: Option<u64>,
    /// Who started it, or uploaded the results.
    pub by: String,
    /// Array of uploaded results: vendor, product and revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// Start of the run.
    #[schema(value_type = String, format = DateTime)]
    pub started: Timestamp,
    /// End of the run, when nothing of it was left on the array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished: Option<Timestamp>,
    /// Reason for which it ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it does at present; absent in a run that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<LabNow>,
    /// Results of the cases that have ended, in their order.
    pub results: Vec<LabResult>,
    /// True if `results.json` and `report.html` can be read.
    pub has_report: bool,
    /// What could not be removed from the array, in sentences; the next start tries again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// Activity since the start of the run, at most 240 points. Left out in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<LabPoint>,
}

/// What a run does at present.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LabNow {
    /// Case; absent before the first one and after the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Number of the case, from 1; 0 before the first one.
    pub number: u64,
    /// Side of the round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<LabSide>,
    /// Round, from 1; 0 before the first one.
    pub round: u32,
    /// Step in words.
    pub step: String,
    /// Bytes of the step that are done.
    pub done: u64,
    /// Bytes of the step; 0 if they are not known.
    pub total: u64,
    /// p99 of other volumes and shares in the last second, in microseconds; absent: they are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts_p99_us: Option<u64>,
    /// True when the run was told to end.
    pub ending: bool,
}

/// Activity of a second or, in a long run, of several.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LabPoint {
    /// Seconds since the start of the run.
    pub seconds: f64,
    /// Side of the round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<LabSide>,
    /// Bytes a second between the laboratory's hosts and the array, both ways.
    pub wire_bytes_per_second: u64,
    /// p99 of other volumes and shares in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts_p99_us: Option<u64>,
}

/// Outcome of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LabOutcome {
    /// All checks of content, locks and space held.
    Passed,
    /// A check failed.
    Failed,
    /// The case, or one of its sides, did not run or did not end.
    NotRun,
}

/// Result of a case. `results.json` has all of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LabResult {
    /// Name of the case.
    pub case: String,
    /// Outcome.
    pub outcome: LabOutcome,
    /// Duration of the case in seconds.
    pub seconds: f64,
    /// Checks that failed: what differed, and where.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// Reason for which the case or a side did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Number of goals for an array that does the work as metadata.
    pub goals: u64,
    /// Number of goals that were reached.
    pub goals_reached: u64,
    /// Figures of both sides.
    pub measures: Vec<LabMeasure>,
}

/// A figure of a case: the medians of its rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LabMeasure {
    /// Name, such as `seconds` or `wire_bytes`.
    pub name: String,
    /// `seconds`, `bytes`, `bytes_per_second`, `per_second`, `count` or `ratio`.
    pub unit: String,
    /// `higher`, `lower` or `neither`.
    pub better: String,
    /// Value with the primitive off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<f64>,
    /// Value with the primitive on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<f64>,
    /// Ratio of on to off in the paper, if it has the figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper_ratio: Option<f64>,
}

/// A line of `windlass lab run --progress json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum LabProgress {
    /// A case begins.
    Case {
        /// Number, from 1.
        number: u64,
        /// Number of cases.
        of: u64,
        /// Name.
        case: String,
    },
    /// A round begins.
    Round {
        /// Number, from 1.
        round: u32,
        /// Side.
        side: LabSide,
    },
    /// A step begins.
    Step {
        /// Description.
        step: String,
    },
    /// Progress of the step, a few times a second at most.
    Progress {
        /// Bytes done.
        done: u64,
        /// Bytes in total.
        total: u64,
    },
    /// Activity of the last second.
    Point {
        /// Bytes a second between hosts and array, both ways.
        wire_bytes_per_second: u64,
    },
    /// A case has ended.
    Finished {
        /// Its result.
        result: LabResult,
    },
    /// The run has ended: the last line.
    Ended {
        /// True if a signal ended it.
        cancelled: bool,
        /// Reason for which it ended before its last case.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Logical units that could not be wiped, in sentences.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<String>,
    },
}

/// Parameters of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LabReportQuery {
    /// Number of another run, to compare them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<u64>,
}
