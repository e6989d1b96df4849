//! Runs checks one after the other.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::bench::Bench;
use super::check::Check;
use crate::url::Url;
use verdict::{Outcome, Report, Row};

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// URL of the target and the first logical unit.
    pub url: Url,
    /// Host and port of another portal of the target.
    pub second_portal: Option<(String, u16)>,
    /// LUN of a second logical unit of the target.
    pub second_lun: Option<u16>,
    /// Names of initiators A, B and C; missing ones are derived from the first.
    pub initiators: Vec<String>,
    /// The content of the logical units may be destroyed.
    pub destroy_data: bool,
    /// Run long checks at their full length.
    pub thorough: bool,
    /// Program that acts as the administrator.
    pub hook: Option<PathBuf>,
    /// Time limit for each answer.
    pub timeout: Duration,
}

impl Options {
    /// Options of a run that only reads, through one portal.
    pub fn new(url: Url) -> Self {
        Self {
            url,
            second_portal: None,
            second_lun: None,
            initiators: Vec::new(),
            destroy_data: false,
            thorough: false,
            hook: None,
            timeout: Duration::from_secs(10),
        }
    }
}

/// Runs the checks in order. `progress` is called with each check before it runs. When `stop`
/// becomes true, the remaining checks are skipped.
pub fn run(
    options: &Options,
    checks: &[&'static Check],
    stop: &AtomicBool,
    mut progress: impl FnMut(&Check),
) -> Report {
    let mut bench = Bench::new(options, stop);
    let mut rows = Vec::with_capacity(checks.len());
    for check in checks {
        let outcome = if stop.load(Ordering::Relaxed) {
            Outcome::Skipped("interrupted".into())
        } else if let Some(need) = bench.missing_need(check.needs) {
            Outcome::Skipped(need.missing().into())
        } else {
            progress(check);
            bench.clear_unit_attentions();
            match (check.run)(&mut bench) {
                Ok(()) => Outcome::Passed,
                Err(trouble) => {
                    // Releases everything that the check may still hold.
                    super::reservations::release_everything(&mut bench);
                    bench.cut_all();
                    trouble.into()
                }
            }
        };
        rows.push(Row { number: check.number, name: check.name, section: check.section, outcome });
    }
    Report { rows }
}
