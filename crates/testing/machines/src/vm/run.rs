//! Run of steps in a guest: its scripts, and the record of the checks.

use super::machine::{Machine, Output};
use crate::tally::Tally;
use anyhow::{Result, anyhow, ensure};
use std::time::{Duration, Instant};

/// Default time limit of a script.
pub(super) const SCRIPT_LIMIT: Duration = Duration::from_secs(300);
/// Lines of a script's output that a failure quotes.
const QUOTED_LINES: usize = 14;

/// Step of a laboratory `L`.
pub(super) struct Step<L> {
    /// Name on the command line.
    pub(super) name: &'static str,
    /// Subject of the step.
    pub(super) asks: &'static str,
    /// Records checks; an error ends the step and counts as one that failed.
    pub(super) run: fn(&mut L) -> Result<()>,
}

/// Server and guest on which steps are carried out.
pub(super) trait Laboratory {
    /// Run whose record the steps fill.
    fn run(&mut self) -> &mut Run;
    /// Removes state that would affect the next step.
    fn clean_up(&mut self) -> Result<()>;
}

/// Guest, and record of the checks.
pub(super) struct Run {
    pub(super) machine: Machine,
    /// Whether the output of every script is printed.
    pub(super) verbose: bool,
    /// End of the whole run.
    pub(super) ends_at: Instant,
    step: usize,
    checks: usize,
    tally: Tally,
    summary: Vec<String>,
    lost: bool,
}

impl Run {
    /// Begins with no checks; `machine` is up.
    pub(super) fn new(machine: Machine, verbose: bool, ends_at: Instant) -> Self {
        Self {
            machine,
            verbose,
            ends_at,
            step: 0,
            checks: 0,
            tally: Tally::default(),
            summary: Vec::new(),
            lost: false,
        }
    }

    /// Time left of the whole run.
    fn left(&self) -> Duration {
        self.ends_at.saturating_duration_since(Instant::now())
    }

    /// Ends the guest, prints a line for each step and returns the counts.
    pub(super) fn finish(self) -> Tally {
        drop(self.machine);
        println!();
        for line in &self.summary {
            println!("{line}");
        }
        self.tally
    }

    /// Runs a script in the guest.
    pub(super) fn script(&mut self, script: &str, limit: Duration) -> Result<Output> {
        let limit = limit.min(self.left()).max(Duration::from_secs(1));
        let output = self.machine.run(script, limit);
        if output.is_err() {
            self.lost = true;
        }
        let output = output?;
        if self.verbose {
            output.text.lines().for_each(|line| println!("      | {line}"));
        }
        Ok(output)
    }

    /// Runs a script that has to exit with 0; returns its output.
    pub(super) fn require(&mut self, script: &str) -> Result<String> {
        self.require_within(script, SCRIPT_LIMIT)
    }

    /// Like [`Self::require`], with another time limit.
    pub(super) fn require_within(&mut self, script: &str, limit: Duration) -> Result<String> {
        let output = self.script(script, limit)?;
        ensure!(output.status == 0, "status {} of\n{}\n{}", output.status, indented(script), quoted(&output.text));
        Ok(output.text)
    }

    /// Records the result of a check: words about a success, or the failure.
    pub(super) fn record(&mut self, title: &str, result: Result<String>) {
        self.checks += 1;
        let number = format!("{}.{:02}", self.step, self.checks);
        match &result {
            Ok(words) if words.is_empty() => println!("  {number} pass  {title}"),
            Ok(words) => println!("  {number} pass  {title}: {words}"),
            Err(error) => println!("  {number} FAIL  {title}: {}", format!("{error:#}").replace('\n', "\n        ")),
        }
        self.tally += Tally::one(result.is_ok());
    }

    /// Checks that the script exits with this status and prints all of these words. Returns its
    /// output, which is empty if the script could not be run.
    pub(super) fn check(&mut self, title: &str, script: &str, status: i32, words: &[&str]) -> Result<String> {
        let output = self.script(script, SCRIPT_LIMIT)?;
        self.record(title, judged(&output, status, words));
        Ok(output.text)
    }
}

/// Runs a step, cleans up after it in the guest, and continues after an error.
pub(super) fn carry_out<L: Laboratory>(lab: &mut L, number: usize, step: &Step<L>) {
    let run = lab.run();
    (run.step, run.checks) = (number, 0);
    let (before, started) = (run.tally, Instant::now());
    println!("{number} {}: {}", step.name, step.asks);
    let ran = match (run.lost, run.left()) {
        (_, Duration::ZERO) => Err(anyhow!("no time is left for it")),
        (true, _) => Err(anyhow!("the guest is lost")),
        _ => (step.run)(lab),
    };
    let ran = ran.and_then(|()| lab.clean_up());
    if let Err(error) = ran {
        let run = lab.run();
        run.record("the step", Err(error));
        if run.left().is_zero() {
            run.lost = true;
        }
        if !run.lost && lab.clean_up().is_err() {
            lab.run().lost = true;
        }
    }
    let run = lab.run();
    let (passed, failed) = (run.tally.passed - before.passed, run.tally.failed - before.failed);
    let verdict = if failed == 0 { "pass" } else { "FAIL" };
    run.summary.push(format!(
        "{verdict} {number} {:14} {passed:3} passed, {failed} failed, {}",
        step.name,
        text::duration::measured(started.elapsed())
    ));
}

/// Judges the output of a script.
pub(super) fn judged(output: &Output, status: i32, words: &[&str]) -> Result<String> {
    ensure!(output.status == status, "status {} and not {status}\n{}", output.status, quoted(&output.text));
    for word in words {
        ensure!(output.text.contains(word), "does not print {word:?}\n{}", quoted(&output.text));
    }
    Ok(String::new())
}

/// The last lines of an output.
pub(super) fn quoted(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(QUOTED_LINES)).map(|line| format!("  | {line}"));
    last.collect::<Vec<_>>().join("\n")
}

fn indented(script: &str) -> String {
    script.lines().map(|line| format!("  > {}", line.trim())).collect::<Vec<_>>().join("\n")
}
