//! Reasons for which the laboratory does not do what a request asks for.

use std::fmt;

/// Reason of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LabRefusal {
    /// The request cannot be carried out as it is.
    Malformed {
        /// Description of the problem.
        reason: String,
    },
    /// No run has this number.
    NoRun {
        /// Number.
        id: u64,
    },
    /// Another run goes on.
    Running {
        /// Its number.
        id: u64,
    },
    /// The pool has too little space, or has reached its warning threshold.
    NoSpace {
        /// Description of the problem.
        reason: String,
    },
    /// The run has no results yet, or none that can be read.
    NoReport {
        /// Number of the run.
        id: u64,
    },
    /// Files or processes of the laboratory cannot be used.
    Unavailable {
        /// Description of the problem.
        reason: String,
    },
}

impl LabRefusal {
    /// Stable name of the condition.
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "invalid-lab-run",
            Self::NoRun { .. } => "no-such-lab-run",
            Self::Running { .. } => "lab-run-running",
            Self::NoSpace { .. } => "lab-needs-space",
            Self::NoReport { .. } => "lab-run-without-report",
            Self::Unavailable { .. } => "lab-unavailable",
        }
    }

    /// Advice.
    pub(crate) const fn help(&self) -> Option<&'static str> {
        match self {
            Self::Malformed { .. } => Some("GET /api/v1/lab/cases lists the cases"),
            Self::NoRun { .. } => Some("GET /api/v1/lab/runs lists the runs; the last twenty are kept"),
            Self::Running { .. } => Some("wait for its end, or cancel it"),
            Self::NoSpace { .. } => Some("choose a smaller size, or make space in the pool"),
            Self::NoReport { .. } => Some("wait for its end"),
            Self::Unavailable { .. } => Some("free space in the state directory, or repair it; the log says more"),
        }
    }
}

impl fmt::Display for LabRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { reason } | Self::NoSpace { reason } => formatter.write_str(reason),
            Self::NoRun { id } => write!(formatter, "the laboratory has no run {id}"),
            Self::Running { id } => write!(formatter, "run {id} of the laboratory goes on, and there is one at a time"),
            Self::NoReport { id } => write!(formatter, "run {id} has no results"),
            Self::Unavailable { reason } => write!(formatter, "the laboratory cannot be used: {reason}"),
        }
    }
}
