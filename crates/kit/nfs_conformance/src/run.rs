//! Runs checks one after the other.

use crate::bench::Bench;
use crate::check::Check;
use crate::options::Options;
use std::sync::atomic::{AtomicBool, Ordering};
use verdict::{NotPassed, Outcome, Report, Row};

/// Runs the checks in order. `progress` is called with each check before it runs. When `stop`
/// becomes true, the remaining checks are skipped.
pub fn run(
    options: &Options,
    checks: &[&'static Check],
    stop: &AtomicBool,
    mut progress: impl FnMut(&Check),
) -> Report {
    let mut rows = Vec::with_capacity(checks.len());
    let mut bench = Bench::new(options, stop);
    for check in checks {
        let outcome = match &mut bench {
            Err(reason) => Outcome::Failed(reason.to_string()),
            Ok(_) if stop.load(Ordering::Relaxed) => Outcome::Skipped("interrupted".into()),
            Ok(bench) => match bench.missing_need(check.needs) {
                Some(need) => Outcome::Skipped(need.missing().into()),
                None => {
                    progress(check);
                    judge(check, (check.run)(bench), bench)
                }
            },
        };
        rows.push(Row { number: check.number, name: check.name, section: check.section, outcome });
    }
    if let Ok(bench) = &mut bench {
        bench.tidy();
    }
    Report { rows }
}

/// Outcome of a check: where the standard leaves a choice, another server than Windlass differs.
fn judge(check: &Check, verdict: Result<(), NotPassed>, bench: &mut Bench<'_>) -> Outcome {
    match verdict {
        Ok(()) => Outcome::Passed,
        Err(NotPassed::Failed(reason)) if check.choice && !bench.is_strict() => Outcome::Differs(reason),
        Err(NotPassed::Differs(reason)) if bench.is_strict() => Outcome::Failed(reason),
        Err(reason) => reason.into(),
    }
}
