//! `cargo xtask scorecard`: the conformance kit and libiscsi's suite against this array, tgt, istgt
//! and LIO, as a comparison.
//!
//! tgt and istgt are Debian's packages, run on this machine with logical units in files in memory;
//! LIO is the kernel's, in the guest of `cargo xtask vm`. Every target has the same setup: two
//! logical units, its thin provisioning options switched on, no authentication, and no
//! administrator (`--hook`), so that a check that needs one is skipped. The only pass criterion is
//! that the runs have ended; the table is for `docs/compatibility.md`.

use crate::suite::{list_tests, verdict};
use crate::tally::Tally;
use anyhow::{Context, Result};
use array_process::program;
use clap::Args;
use machines::targets::{self, Target};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use text::columns::Align;

/// Targets and output.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these targets: windlass, tgt, istgt, lio.
    #[arg(value_name = "TARGET")]
    only: Vec<String>,
    /// Only the kit, not libiscsi's suite.
    #[arg(long)]
    kit_only: bool,
    /// Write every result with its reason to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print the failures of each target with their reasons.
    #[arg(long)]
    verbose: bool,
}

/// Size of a logical unit.
const SIZE_MIB: u64 = 512;
/// Time limit of the kit against one target.
const KIT_LIMIT: Duration = Duration::from_secs(1800);
/// Response timeout of the kit in seconds.
const ANSWER_S: &str = "5";
/// Time limit of one test of libiscsi's suite.
const TEST_LIMIT: Duration = Duration::from_secs(20);

/// Numbers of checks of one kind that passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Counts {
    fn add(&mut self, word: &str) {
        match word {
            "passed" => self.passed += 1,
            "skipped" => self.skipped += 1,
            _ => self.failed += 1,
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} / {} / {}", self.passed, self.failed, self.skipped)
    }
}

/// Results of one target.
struct Card {
    target: &'static str,
    kit: Value,
    /// Name and result of every test of the suite.
    suite: Vec<(String, &'static str)>,
}

/// Runs all targets and prints the table.
pub(crate) fn run(windlass: &Path, options: &Options) -> Result<Tally> {
    let chosen = targets::chosen(&options.only)?;
    let windlass = windlass.canonicalize()?;
    let mut cards = Vec::new();
    let mut tally = Tally::default();
    for target in chosen {
        let started = Instant::now();
        let card = card(&windlass, target, options).with_context(|| format!("the scorecard of {target}"));
        tally += Tally::one(card.is_ok());
        match card {
            Ok(card) => {
                println!("  {target}: done after {}", text::duration::measured(started.elapsed()));
                cards.push(card);
            }
            Err(error) => println!("  {target}: {error:#}"),
        }
    }
    for line in table(&cards)? {
        println!("{line}");
    }
    if options.verbose {
        for card in &cards {
            for (number, name, _, reason) in results(&card.kit)?.into_iter().filter(|(_, _, word, _)| *word == "failed")
            {
                println!("{} fails {number} {name}: {}", card.target, reason.replace('\n', " "));
            }
        }
    }
    if let Some(path) = &options.json {
        let all: BTreeMap<_, _> = cards
            .iter()
            .map(|card| {
                let suite: BTreeMap<_, _> = card.suite.iter().map(|(name, word)| (name, word)).collect();
                (card.target, json!({ "kit": card.kit.get("results"), "suite": suite }))
            })
            .collect();
        std::fs::write(path, serde_json::to_string_pretty(&all)?)?;
    }
    Ok(tally)
}

/// Starts the target and runs kit and suite on it.
fn card(windlass: &Path, target: &'static str, options: &Options) -> Result<Card> {
    let mut running = Target::start(windlass, target, SIZE_MIB)?;
    let mut command = Command::new(windlass);
    command.args(["conformance", &running.url(), "--second-lun", &running.second_lun().to_string()]);
    command.args(["--destroy-data", "-o", "json", "--answer-timeout", ANSWER_S]);
    let kit = document(command).context("the conformance kit")?;
    let mut suite = Vec::new();
    if !options.kit_only {
        let tool = program::find("iscsi-test-cu").context("iscsi-test-cu is not installed")?;
        running = running.restarted()?;
        for name in list_tests(&tool)? {
            let (pattern, url) = (format!("ALL.{name}"), running.url());
            // The suite expects one logical unit through two paths.
            let arguments = ["--dataloss", "-t", &pattern, &url, &url];
            let finished = program::run(&tool, &arguments, TEST_LIMIT)?;
            let output = format!("{}{}", finished.stdout, finished.stderr);
            let word = verdict::judge(&name, finished.status.is_some(), &output).word();
            suite.push((name, word));
            if !matches!(word, "passed" | "skipped") {
                // State that the test left behind, such as a reservation, must not affect the next
                // test.
                running = running.restarted()?;
            }
        }
    }
    Ok(Card { target, kit, suite })
}

/// Runs the kit to its end and parses its output.
fn document(mut command: Command) -> Result<Value> {
    let output = tempfile::NamedTempFile::new()?;
    command.stdin(std::process::Stdio::null()).stdout(output.reopen()?).stderr(std::process::Stdio::null());
    let mut kit = command.spawn().context("cannot run windlass")?;
    let started = Instant::now();
    while kit.try_wait()?.is_none() {
        if started.elapsed() > KIT_LIMIT {
            kit.kill()?;
            kit.wait()?;
            anyhow::bail!("it did not end within {} s", KIT_LIMIT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let text = std::fs::read_to_string(output.path())?;
    serde_json::from_str(&text).with_context(|| format!("it printed no JSON:\n{text}"))
}

/// Number, name, outcome and reason of every check.
fn results(kit: &Value) -> Result<Vec<(u64, &str, &str, &str)>> {
    let results = kit.get("results").and_then(Value::as_array).context("the kit's document has no results")?;
    let row = |result: &'_ Value| -> Option<u64> { result.get("number").and_then(Value::as_u64) };
    results
        .iter()
        .map(|result| {
            let text = |field: &str| result.get(field).and_then(Value::as_str).unwrap_or_default();
            Ok((row(result).context("a result without a number")?, text("name"), text("outcome"), text("reason")))
        })
        .collect()
}

/// Table with a row for each group of the kit, and one for the suite; passed / failed / skipped.
fn table(cards: &[Card]) -> Result<Vec<String>> {
    let mut groups: Vec<String> = Vec::new();
    let mut counts: BTreeMap<(String, &str), Counts> = BTreeMap::new();
    for card in cards {
        for (_, name, word, _) in results(&card.kit)? {
            let group = name.split('/').next().unwrap_or_default();
            for group in [group, "kit, total"] {
                counts.entry((group.to_owned(), card.target)).or_default().add(word);
                if !groups.iter().any(|known| known == group) {
                    groups.push(group.to_owned());
                }
            }
        }
        for (_, word) in &card.suite {
            counts.entry(("iscsi-test-cu, total".into(), card.target)).or_default().add(word);
        }
    }
    groups.retain(|group| group != "kit, total");
    groups.extend(["kit, total".to_owned(), "iscsi-test-cu, total".to_owned()]);
    let mut rows = vec![
        std::iter::once("| group").chain(cards.iter().map(|card| card.target)).map(str::to_owned).collect::<Vec<_>>(),
    ];
    rows.push(std::iter::once("| ---").chain(cards.iter().map(|_| "---")).map(str::to_owned).collect());
    for group in &groups {
        let cell = |card: &Card| counts.get(&(group.clone(), card.target)).map(ToString::to_string).unwrap_or_default();
        rows.push(std::iter::once(format!("| {group}")).chain(cards.iter().map(cell)).collect());
    }
    for row in &mut rows {
        for cell in row.iter_mut().skip(1) {
            *cell = format!("| {cell}");
        }
        row.push("|".to_owned());
    }
    let columns = vec![Align::Left; cards.len() + 2];
    Ok(text::columns::lines(&columns, &rows))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_group() {
        let result = |number, name: &str, outcome: &str| json!({ "number": number, "name": name, "outcome": outcome });
        let kit = json!({ "results": [
            result(1, "unmap/one", "passed"), result(2, "unmap/two", "failed"), result(3, "thin/one", "skipped"),
        ] });
        let cards = [Card { target: "tgt", kit, suite: vec![("A.B".into(), "timed out")] }];
        let lines = table(&cards).unwrap();
        let squeezed: Vec<String> =
            lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            squeezed,
            [
                "| group | tgt |",
                "| --- | --- |",
                "| unmap | 1 / 1 / 0 |",
                "| thin | 0 / 0 / 1 |",
                "| kit, total | 1 / 1 / 1 |",
                "| iscsi-test-cu, total | 0 / 1 / 0 |",
            ]
        );
    }
}
