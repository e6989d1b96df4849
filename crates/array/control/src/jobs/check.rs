//! Check job: verifies map, reference counts and counters of the pool while it is in use. It starts
//! over after a restart.

use super::Progress;
use crate::{CheckRecord, Control, ControlError, ObjectNames};
use jiff::Timestamp;
use pool::{CheckReport, PoolError};
use serde::{Deserialize, Serialize};

/// Largest number of findings whose text is stored.
const LISTED: usize = 20;
/// Largest length of a stored finding.
const MAX_FINDING_CHARACTERS: usize = 300;

/// State of the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Work {
    started: Timestamp,
    result: Option<CheckRecord>,
}

impl Work {
    pub fn new(now: Timestamp) -> Self {
        Self { started: now, result: None }
    }

    pub fn record(&self) -> Option<CheckRecord> {
        self.result.clone()
    }

    pub fn summary(&self) -> String {
        match &self.result {
            None => "no result".to_owned(),
            Some(CheckRecord { count: 0, objects, pages, .. }) => {
                format!("clean; {objects} volumes and snapshots, {pages} map pages")
            }
            Some(CheckRecord { count, findings, .. }) => {
                format!("{count} findings, the first: {}", findings.first().map_or("", String::as_str))
            }
        }
    }

    /// One step. False at the end.
    pub async fn step(&mut self, control: &Control, progress: &mut Progress) -> Result<bool, ControlError> {
        let report = match control.catalog.check_step().await {
            Ok(step) => {
                *progress = Progress { done: step.done, total: step.total };
                let Some(report) = step.report else { return Ok(true) };
                report
            }
            // A finding, too; what lies behind it was not looked at.
            Err(PoolError::Damaged(reason)) => {
                control.catalog.abandon_check();
                control.report_damage(&reason, None);
                let findings = vec![format!("{reason}; the check could not go on after it")];
                CheckReport { findings, count: 1, ..CheckReport::default() }
            }
            Err(error) => return Err(control.pool_error(error)),
        };
        let names = ObjectNames::of(&control.directory());
        let short = |finding: &String| names.explain(finding).chars().take(MAX_FINDING_CHARACTERS).collect();
        self.result = Some(CheckRecord {
            started: self.started,
            finished: control.environment.now(),
            objects: report.objects,
            pages: report.pages,
            blocks: report.blocks,
            count: report.count,
            findings: report.findings.iter().take(LISTED).map(short).collect(),
        });
        Ok(false)
    }
}
