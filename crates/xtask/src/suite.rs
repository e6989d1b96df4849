//! `cargo xtask suite`: every test of libiscsi's `iscsi-test-cu` against a fresh array.
//!
//! Each test runs in its own process under a time limit, so that one that hangs affects no other.
//! CUnit counts a test that skipped itself as passed; here it counts as skipped, and every skip
//! must have a reason that [`verdict`] knows. The two URLs name one logical unit through two
//! portals, as the tests with several paths expect. A test of a write-protected logical unit gets
//! one: SWP is set through the Control mode page. The test that resets a target during an overwrite
//! gets a fully mapped logical unit. Tests of properties that the default logical unit does not
//! have (removable, large physical blocks, WRITE SAME to the end) run once more on an array whose
//! logical units have them. A test that no target can pass is counted separately, see [`verdict`].

pub(crate) mod verdict;

use crate::tally::Tally;
use anyhow::{Context, Result, ensure};
use array_process::array::{Array, ArrayOptions, Volume, free_portal};
use array_process::{observe, program};
use clap::Args;
use conformance::initiator::{Session, SessionOptions};
use conformance::url::Url;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use text::columns::Align;
use verdict::{Verdict, excuse, judge, wants_another_profile};

/// Selection and output.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Run only the tests whose name starts with this: `CompareAndWrite`, `Write16.Simple`.
    #[arg(long, default_value = "", value_name = "PREFIX")]
    only: String,
    /// Write every result to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print a line for every test, not only for failures.
    #[arg(long)]
    verbose: bool,
}

/// Time limit of one test; the slowest need a few seconds.
const TEST_LIMIT: Duration = Duration::from_secs(60);
/// Time limit of a test that overwrites the whole logical unit several times.
const SANITIZE_LIMIT: Duration = Duration::from_secs(300);

/// Profile of the logical unit for tests that skip themselves on the default one.
const PROFILE: &str = "removable,512e,write-same-to-end";
/// Size of that logical unit: all of it is within MAXIMUM WRITE SAME LENGTH.
const PROFILE_VOLUME: &str = "16M";

/// Result of one test.
struct Outcome {
    name: String,
    verdict: Verdict,
    elapsed: Duration,
    output: String,
}

/// Starts an array and runs the tests; the tally counts tests, and a skip with a known reason as
/// passed.
pub(crate) fn run(windlass: &Path, options: &Options) -> Result<Tally> {
    let tool = program::find("iscsi-test-cu")
        .context("iscsi-test-cu is not installed; on Debian and Ubuntu: apt-get install libiscsi-bin")?;
    let tests = list_tests(&tool)?;
    let tests: Vec<_> = tests.iter().filter(|name| name.starts_with(&options.only)).collect();
    ensure!(!tests.is_empty(), "no test starts with {}", options.only);

    let directory = tempfile::Builder::new().prefix("windlass-suite-").tempdir()?;
    let started = Instant::now();
    let mut run = Run { tool, verbose: options.verbose, cpu: Duration::ZERO };
    let mut outcomes = run.tests(windlass, &directory.path().join("array"), "1G", &tests)?;
    let wants =
        |outcome: &Outcome| matches!(&outcome.verdict, Verdict::Skipped(reason) if wants_another_profile(reason));
    let again: Vec<_> = outcomes.iter().filter(|outcome| wants(outcome)).map(|outcome| outcome.name.clone()).collect();
    if !again.is_empty() {
        println!("  {} tests want another profile: {PROFILE}", again.len());
        let wrapper = wrapper(windlass, directory.path())?;
        let names: Vec<_> = again.iter().collect();
        let second = run.tests(&wrapper, &directory.path().join("profile"), PROFILE_VOLUME, &names)?;
        outcomes.retain(|outcome| !wants(outcome));
        outcomes.extend(second);
    }
    for outcome in &outcomes {
        report(outcome);
    }
    let elapsed = started.elapsed();
    for line in table(&outcomes) {
        println!("{line}");
    }
    println!(
        "{} tests in {}, {} of processor time in the array",
        outcomes.len(),
        text::duration::measured(elapsed),
        text::duration::measured(run.cpu)
    );
    if let Some(path) = &options.json {
        write_json(path, &outcomes)?;
    }
    let mut tally = Tally::default();
    for outcome in &outcomes {
        tally += Tally::one(good(outcome));
    }
    Ok(tally)
}

/// State of the run that all arrays share.
struct Run {
    tool: PathBuf,
    verbose: bool,
    /// Processor time of the arrays so far.
    cpu: Duration,
}

impl Run {
    /// Starts an array with one volume of `size` and two portals, and runs the tests with these names.
    fn tests(&mut self, windlass: &Path, state: &Path, size: &str, names: &[&String]) -> Result<Vec<Outcome>> {
        let mut array = Array::start(ArrayOptions {
            executable: windlass.to_path_buf(),
            state_directory: state.to_path_buf(),
            portals: vec![free_portal()?, free_portal()?],
            pool_size: "4G".into(),
            arguments: Vec::new(),
        })?;
        let volume = array.create_volume("suite", size)?;
        let mut outcomes = Vec::new();
        for name in names {
            let pattern = format!("ALL.{name}");
            let mut arguments = vec!["--dataloss", "--allow-sanitize", "-t", &pattern];
            arguments.extend(volume.urls.iter().map(String::as_str));
            let protected = name.starts_with("ReadOnly.");
            if protected {
                set_write_protect(&volume, true)?;
            }
            if name.as_str() == "Sanitize.Reset" {
                fill(&volume)?;
            }
            let limit = if name.starts_with("Sanitize.") { SANITIZE_LIMIT } else { TEST_LIMIT };
            let finished = program::run(&self.tool, &arguments, limit)?;
            let mut output = format!("{}{}", finished.stdout, finished.stderr);
            let died = !array.alive()?;
            let verdict = if died { Verdict::ArrayDied } else { judge(name, finished.status.is_some(), &output) };
            if died {
                output.push_str(&format!("the array's log ends:\n{}", array.log_end()));
                // The array restarts on its own state, as after a crash.
                array.restart()?;
            } else if protected {
                set_write_protect(&volume, false)?;
            }
            if self.verbose {
                println!("  {:12} {name:44} {}", verdict.word(), text::duration::measured(finished.elapsed));
            }
            outcomes.push(Outcome { name: name.to_string(), verdict, elapsed: finished.elapsed, output });
        }
        self.cpu += observe::processor_time(array.pid())?.total();
        array.stop()?;
        Ok(outcomes)
    }
}

/// Writes a program that starts `windlass` with [`PROFILE`].
fn wrapper(windlass: &Path, directory: &Path) -> Result<PathBuf> {
    let windlass = std::path::absolute(windlass)?;
    let quoted = windlass.to_str().context("the path of windlass is not UTF-8")?.replace('\'', "'\\''");
    let path = directory.join("windlass-with-profile");
    std::fs::write(&path, format!("#!/bin/sh\nWINDLASS_SCSI_PROFILE={PROFILE} exec '{quoted}' \"$@\"\n"))?;
    std::fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    Ok(path)
}

/// Sets or clears software write protection of the logical unit under test, as an initiator would.
fn set_write_protect(volume: &Volume, protect: bool) -> Result<()> {
    let url: Url = volume.url().parse()?;
    let mut session = Session::connect(&url, &SessionOptions::default())?;
    session.clear_unit_attentions()?;
    session.set_software_write_protect(protect)?;
    Ok(session.logout()?)
}

/// Maps all blocks of the logical unit, so that overwriting it takes long enough for the test to
/// observe it.
fn fill(volume: &Volume) -> Result<()> {
    const CHUNK: u32 = 8 << 20;
    let url: Url = volume.url().parse()?;
    let mut session = Session::connect(&url, &SessionOptions::default())?;
    session.clear_unit_attentions()?;
    let blocks = session.read_capacity()?.blocks;
    let mut lba = 0;
    while lba < blocks {
        let count = u32::try_from(blocks - lba).unwrap_or(u32::MAX).min(CHUNK / 512);
        session.write_same16(lba, count, Some(vec![0x5a; 512].into()), false)?;
        lba += u64::from(count);
    }
    Ok(session.logout()?)
}

/// Whether a test passed, was skipped for a known reason, or cannot pass on any target.
fn good(outcome: &Outcome) -> bool {
    match &outcome.verdict {
        Verdict::Passed | Verdict::Defective(_) => true,
        Verdict::Skipped(reason) => excuse(&outcome.name, reason).is_some(),
        _ => false,
    }
}

/// Names of all tests, `FAMILY.TEST`, each once.
pub(crate) fn list_tests(tool: &Path) -> Result<Vec<String>> {
    let listing = program::require(tool, &["-l"], TEST_LIMIT)?.stdout;
    let mut names: Vec<String> = Vec::new();
    for line in listing.lines() {
        let Some(name) = line.trim().strip_prefix("ALL.") else { continue };
        if name.split('.').count() == 2 && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    ensure!(!names.is_empty(), "{} -l lists no tests", tool.display());
    Ok(names)
}

/// Prints a failure with the end of the test's output.
fn report(outcome: &Outcome) {
    if good(outcome) {
        return;
    }
    println!("  {:12} {}", outcome.verdict.word(), outcome.name);
    if let Verdict::Skipped(reason) = &outcome.verdict {
        println!("      skipped without a known reason: {reason}");
        return;
    }
    let lines: Vec<_> = outcome.output.lines().filter(|line| !line.trim().is_empty()).collect();
    for line in lines.iter().skip(lines.len().saturating_sub(25)) {
        println!("      {line}");
    }
}

/// Table with one row for each family and verdict, followed by the reasons of the skips.
fn table(outcomes: &[Outcome]) -> Vec<String> {
    let mut families: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    let mut reasons: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for outcome in outcomes {
        let family = outcome.name.split('.').next().unwrap_or_default();
        let word = outcome.verdict.word();
        for name in [family, "total"] {
            *families.entry(name).or_default().entry(word).or_default() += 1;
        }
        let reason = match &outcome.verdict {
            Verdict::Skipped(reason) => excuse(&outcome.name, reason).unwrap_or("NO KNOWN REASON"),
            Verdict::Defective(reason) => reason,
            _ => continue,
        };
        *reasons.entry((word, reason)).or_default() += 1;
    }
    let words = ["passed", "skipped", "failed", "timed out", "no result", "array died", "defective"];
    let mut rows = vec![std::iter::once("FAMILY".into()).chain(words.iter().map(|word| word.to_uppercase())).collect()];
    for (family, counts) in &families {
        let mut row = vec![(*family).to_owned()];
        row.extend(words.iter().map(|word| counts.get(word).map(ToString::to_string).unwrap_or_default()));
        rows.push(row);
    }
    // "total" is the last row, regardless of the alphabet.
    let total = families.keys().position(|family| *family == "total").map(|index| rows.remove(index + 1));
    rows.extend(total);
    let mut alignment = vec![Align::Left];
    alignment.resize(words.len() + 1, Align::Right);
    let mut lines = text::columns::lines(&alignment, &rows);
    for ((word, reason), count) in reasons {
        lines.push(format!("{count:3} {word}: {reason}"));
    }
    lines
}

/// Writes all results as one document.
fn write_json(path: &Path, outcomes: &[Outcome]) -> Result<()> {
    let results: Vec<_> = outcomes
        .iter()
        .map(|outcome| {
            let reason = match &outcome.verdict {
                Verdict::Skipped(reason) => Some(reason.as_str()),
                Verdict::Defective(reason) => Some(*reason),
                _ => None,
            };
            json!({
                "test": outcome.name,
                "result": outcome.verdict.word(),
                "expected": good(outcome),
                "reason": reason,
                "elapsed_us": u64::try_from(outcome.elapsed.as_micros()).unwrap_or(u64::MAX),
                "output": if good(outcome) { None } else { Some(&outcome.output) },
            })
        })
        .collect();
    let text = serde_json::to_string_pretty(&json!({ "results": results }))?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
