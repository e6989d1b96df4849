//! Check job: verifies map, reference counts and counters of the pool while it is in use. It starts
//! over after a restart.

use super::{Context, JobKind, JobReport, Kind, PoolResult, Progress};
use crate::catalog::DynCatalog;
use crate::error::ControlError;
use crate::object_names::ObjectNames;
use crate::pools::record::CheckRecord;
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

    /// Performs one step. Returns false at the end.
    pub async fn step(&mut self, context: &dyn Context, progress: &mut Progress) -> Result<bool, ControlError> {
        let report = match context.catalog().check_step().await {
            Ok(step) => {
                *progress = Progress { done: step.done, total: step.total };
                let Some(report) = step.report else { return Ok(true) };
                report
            }
            // Damage that stops the check is a finding, too; the metadata behind it was not
            // checked.
            Err(PoolError::Damaged(reason)) => {
                context.catalog().abandon_check();
                context.report_damage(&reason, None);
                let findings = vec![format!("{reason}; the check stopped there")];
                CheckReport { findings, count: 1, ..CheckReport::default() }
            }
            Err(error) => return Err(context.pool_error(error)),
        };
        let names = ObjectNames::of(&context.directory());
        let short = |finding: &String| names.explain(finding).chars().take(MAX_FINDING_CHARACTERS).collect();
        self.result = Some(CheckRecord {
            started: self.started,
            finished: context.now(),
            objects: report.objects,
            pages: report.pages,
            blocks: report.blocks,
            count: report.count,
            findings: report.findings.iter().take(LISTED).map(short).collect(),
        });
        Ok(false)
    }
}

impl Kind for Work {
    fn kind(&self) -> JobKind {
        JobKind::Check
    }

    /// Counts of an interrupted check were in memory only.
    fn resume(&mut self, progress: &mut Progress) {
        *progress = Progress::default();
    }

    fn abandon(&self, catalog: &dyn DynCatalog) {
        catalog.abandon_check();
    }

    fn report(&self, _now: Timestamp) -> JobReport {
        JobReport::Check(self.result.clone())
    }

    fn summary(&self) -> String {
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

    fn is_clean(&self) -> bool {
        self.result.as_ref().is_none_or(|record| record.count == 0)
    }

    fn pool_result(&self, _now: Timestamp) -> Option<PoolResult> {
        self.result.clone().map(PoolResult::Check)
    }
}
