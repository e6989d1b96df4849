//! `windlass lab array`: runs of the laboratory on the array itself, on scratch volumes that it makes and removes.

use crate::client::Client;
use crate::error::CliError;
use crate::output::{Column, Format, Output, Resource, column, wide};
use api::{LabOutcome, LabResult, LabRun, LabRunCreate, LabRunState};
use std::path::PathBuf;
use std::time::Duration;

/// Interval between two requests for the state of a run.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Verbs of `windlass lab array`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// Run cases on scratch volumes of the array
    Start {
        /// Names of cases: windlass lab list
        #[arg(required = true, value_name = "CASE")]
        cases: Vec<String>,
        /// small (at most a minute per case), paper (the sizes of the papers), or the size of the largest disk
        #[arg(long, value_name = "SIZE", default_value = "small")]
        size: String,
        /// Number of rounds, each with the primitive off and on
        #[arg(long, value_name = "N", default_value_t = 1)]
        pairs: u32,
        /// End the run when the p99 of other volumes and shares is above this many milliseconds for three seconds
        #[arg(long, value_name = "MILLISECONDS", value_parser = microseconds)]
        stop_when_host_p99: Option<u64>,
        /// Start the run and return
        #[arg(long)]
        no_wait: bool,
    },
    /// List the last twenty runs, newest first
    List,
    /// Show one run and its results
    Show {
        /// Number of the run
        run: u64,
    },
    /// Cancel a run; its scratch volumes are removed
    Cancel {
        /// Number of the run
        run: u64,
    },
    /// Save the results of a run in a file for windlass lab report and windlass lab compare
    Save {
        /// Number of the run
        run: u64,
        /// Name of the file
        #[arg(long, value_name = "FILE", default_value = "windlass-lab.json")]
        to: PathBuf,
    },
}

impl Resource for LabRun {
    const WHEN_EMPTY: &'static str = "the laboratory of the array has no runs";
    const COLUMNS: &'static [Column<Self>] = &[
        column("run", |run| run.id.to_string().into()),
        column("state", |run| state(run.state).into()),
        column("cases", |run| run.cases.join(",").into()),
        column("size", |run| run.size.as_str().into()),
        column("pairs", |run| run.pairs.to_string().into()),
        column("result", |run| summary(run).into()),
        column("started", |run| format!("{:.0}", run.started).into()),
        wide("finished", |run| run.finished.map(|time| format!("{time:.0}")).into()),
        wide("by", |run| run.by.as_str().into()),
        wide("array", |run| run.array.as_deref().map(str::to_owned).into()),
        wide("left", |run| (!run.left.is_empty()).then(|| run.left.join("; ")).into()),
    ];

    fn name(&self) -> String {
        self.id.to_string()
    }
}

impl Resource for LabResult {
    const WHEN_EMPTY: &'static str = "no case has ended";
    const COLUMNS: &'static [Column<Self>] = &[
        column("case", |result| result.case.as_str().into()),
        column("outcome", |result| outcome(result.outcome).into()),
        column("off", |result| seconds(result).0.into()),
        column("on", |result| seconds(result).1.into()),
        column("goals", |result| format!("{} of {}", result.goals_reached, result.goals).into()),
        column("failed-checks", |result| why(result).into()),
        wide("seconds", |result| format!("{:.1}", result.seconds).into()),
    ];

    fn name(&self) -> String {
        self.case.clone()
    }
}

const fn state(state: LabRunState) -> &'static str {
    match state {
        LabRunState::Running => "running",
        LabRunState::Done => "done",
        LabRunState::Failed => "failed",
        LabRunState::Cancelled => "cancelled",
        LabRunState::Uploaded => "uploaded",
    }
}

const fn outcome(outcome: LabOutcome) -> &'static str {
    match outcome {
        LabOutcome::Passed => "passed",
        LabOutcome::Failed => "FAILED",
        LabOutcome::NotRun => "not run or in part",
    }
}

/// Times of both sides, of a case that measures one.
fn seconds(result: &LabResult) -> (Option<String>, Option<String>) {
    let measure = result.measures.iter().find(|measure| measure.name == "seconds");
    let text = |seconds: Option<f64>| seconds.map(|seconds| format!("{seconds:.2} s"));
    (text(measure.and_then(|measure| measure.off)), text(measure.and_then(|measure| measure.on)))
}

/// Failed checks, or the reason for which a case did not run.
fn why(result: &LabResult) -> Option<String> {
    if result.failures.is_empty() { result.skipped.clone() } else { Some(result.failures.join("; ")) }
}

/// Result of a run in a few words, or what it does.
fn summary(run: &LabRun) -> String {
    if let Some(now) = &run.now {
        return format!("{}: {}", now.case.as_deref().unwrap_or("lab"), now.step);
    }
    let passed = run.results.iter().filter(|result| result.outcome == LabOutcome::Passed).count();
    let cases = format!("{passed} of {} passed", run.results.len());
    run.reason.as_ref().map_or(cases.clone(), |reason| format!("{cases}; {reason}"))
}

/// `run 7  clone-template  off, round 1  cloning the template  61 %`.
fn line(run: &LabRun) -> String {
    let Some(now) = &run.now else { return format!("run {}", run.id) };
    let case = now.case.as_ref().map(|case| format!("  {case}")).unwrap_or_default();
    let share = (u128::from(now.done) * 100).checked_div(u128::from(now.total));
    let share = share.map(|percent| format!("  {percent} %")).unwrap_or_default();
    format!("run {}{case}  {}{share}", run.id, now.step)
}

/// Microseconds of a number of milliseconds, such as `0.8`.
fn microseconds(text: &str) -> Result<u64, String> {
    let milliseconds: f64 = text.parse().map_err(|_| format!("{text:?} is no number of milliseconds"))?;
    if !(0.001..=3_600_000.0).contains(&milliseconds) {
        return Err("possible are 0.001 to 3600000".to_owned());
    }
    // Far below 2^53, and not negative.
    Ok((milliseconds * 1000.0).round() as u64)
}

fn path(run: u64) -> String {
    format!("/api/v1/lab/runs/{run}")
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::Start { cases, size, pairs, stop_when_host_p99, no_wait } => {
            let request = LabRunCreate {
                cases: cases.clone(),
                size: Some(size.clone()),
                pairs: Some(*pairs),
                stop_when_host_p99_us: *stop_when_host_p99,
            };
            let run = client.post::<LabRun>("/api/v1/lab/runs", &request).await?.body;
            if *no_wait { output.made("run", &run, true) } else { wait(run, client, output).await }
        }
        Verb::List => output.list(&client.list::<LabRun>("/api/v1/lab/runs").await?),
        Verb::Show { run } => show(&client.get::<LabRun>(&path(*run)).await?, output),
        Verb::Cancel { run } => {
            client.delete(&path(*run)).await?;
            output.report(&format!("run {run} is being cancelled; its scratch volumes are removed"));
            Ok(())
        }
        Verb::Save { run, to } => {
            let results = client.get::<serde_json::Value>(&format!("{}/results.json", path(*run))).await?;
            let written = std::fs::write(to, format!("{results:#}\n"));
            written.map_err(|error| CliError::failed(format!("cannot write {}: {error}", to.display())))?;
            output.report(&format!("results of run {run}: {}", to.display()));
            Ok(())
        }
    }
}

/// Shows a run; to people with a line for each case.
fn show(run: &LabRun, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    output.show(run)?;
    if matches!(output.format(), Format::Table | Format::Wide) && !run.results.is_empty() {
        output.text("\n")?;
        output.list(&run.results)?;
    }
    Ok(())
}

/// Waits for the end of a run. Ctrl-C leaves it running.
async fn wait(mut run: LabRun, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    while run.state == LabRunState::Running {
        output.progress(&line(&run));
        tokio::select! {
            () = tokio::time::sleep(LOOK_INTERVAL) => {}
            _ = tokio::signal::ctrl_c() => {
                output.end_progress();
                return Err(CliError::interrupted_run(run.id));
            }
        }
        run = client.get::<LabRun>(&path(run.id)).await.inspect_err(|_| output.end_progress())?;
    }
    output.end_progress();
    show(&run, output)?;
    let failed = run.results.iter().filter(|result| result.outcome == LabOutcome::Failed).count();
    match run.state {
        LabRunState::Failed => {
            Err(CliError::failed(format!("run {} failed: {}", run.id, run.reason.unwrap_or_default())))
        }
        LabRunState::Cancelled => Err(CliError::failed(format!("run {} was cancelled", run.id))),
        _ if failed > 0 => {
            let help = format!("windlass lab array save {}  saves what differed", run.id);
            Err(CliError::findings(format!("checks of {failed} cases failed"), &help))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
    use super::*;
    use api::LabNow;

    #[test]
    fn a_limit_is_in_milliseconds() {
        let of = |text: &str| microseconds(text).ok();
        assert_eq!((of("5"), of("0.8"), of("3600000")), (Some(5000), Some(800), Some(3_600_000_000)));
        for wrong in ["", "0", "-1", "NaN", "inf", "5ms", "3600001"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_run_is_shown_in_a_line() {
        let text = r#"{"id":7,"state":"running","cases":["clone-template"],"size":"small","pairs":1,"by":"user ana","started":"2026-11-22T10:00:00Z","results":[],"has_report":false}"#;
        let mut run: LabRun = serde_json::from_str(text).unwrap();
        let now = LabNow {
            case: Some("clone-template".into()),
            step: "cloning".into(),
            done: 61,
            total: 100,
            ..LabNow::default()
        };
        run.now = Some(now);
        assert_eq!(line(&run), "run 7  clone-template  cloning  61 %");
        assert_eq!(summary(&run), "clone-template: cloning");
        run.now = None;
        run.reason = Some("the array was stopped".into());
        assert_eq!(summary(&run), "0 of 0 passed; the array was stopped");
    }
}
