//! `cargo xtask peers`: the host kit against this array, tgt, istgt and LIO: the results of
//! `windlass probe`, and the laboratory.
//!
//! The features of the other targets are known from libiscsi's suite, vaai-bench and their sources
//! (docs/compatibility.md). The probe has to find them, with and without a write test where
//! possible: tgt announces a COMPARE AND WRITE that it rejects. A case of the laboratory has to
//! pass its checks on each target, or to be skipped because the primitive is missing. LIO runs in a
//! guest; where the guest is emulated, its numbers only show that it works.

use crate::tally::Tally;
use crate::targets::{self, Target};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use array_process::program;
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use text::columns::Align;

/// Targets and amount of work.
#[derive(Args)]
pub struct Options {
    /// Only these targets: windlass, tgt, istgt, lio.
    #[arg(value_name = "TARGET")]
    only: Vec<String>,
    /// Only the probe, not the laboratory.
    #[arg(long)]
    probe_only: bool,
    /// Only these cases of the laboratory; may be given several times.
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// Rounds of "without" and "with" the primitive.
    #[arg(long, default_value_t = 1)]
    pairs: u32,
    /// Scale, as for `windlass lab run`; LIO in an emulated guest gets 64M.
    #[arg(long, default_value = "small")]
    size: String,
    /// Directory for results and reports; default: `target/peers`.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

/// Primitives of the probe, in table order.
const PRIMITIVES: [&str; 4] = ["ats", "xcopy", "zero", "unmap"];
/// Primitives that each target has.
const KNOWN: [(&str, [bool; 4]); 4] = [
    ("windlass", [true, true, true, true]),
    ("tgt", [false, false, true, true]),
    ("istgt", [true, false, true, false]),
    ("lio", [true, true, true, true]),
];
/// Size of a logical unit on this machine, and in the guest, which has less memory.
const SIZE_MIB: u64 = 4096;
const GUEST_SIZE_MIB: u64 = 1024;
/// Scale for a guest, and response timeout in seconds.
const GUEST_SCALE: &str = "64M";
const ANSWER_S: &str = "60";
const PROBE_LIMIT: Duration = Duration::from_secs(120);
const LAB_LIMIT: Duration = Duration::from_secs(3600);
/// Exit statuses of the kit with which it prints a document.
const SPOKEN: [i32; 2] = [0, 9];

/// Results of one target.
struct Found {
    target: &'static str,
    /// Result of each of [`PRIMITIVES`], as a word.
    primitives: Vec<String>,
    /// Results of the laboratory.
    run: Option<Value>,
}

/// Runs all targets and prints the tables; one check for each primitive and each case.
pub fn run(windlass: &Path, options: &Options) -> Result<Tally> {
    let chosen = targets::chosen(&options.only)?;
    let windlass = windlass.canonicalize()?;
    let place = options.to.clone().unwrap_or_else(|| workspace::target().join("peers"));
    std::fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
    let mut tally = Tally::default();
    let mut all = Vec::new();
    for target in chosen {
        let started = Instant::now();
        match one(&windlass, target, options, &place, &mut tally) {
            Ok(found) => {
                println!("  {target}: done after {}", text::duration::measured(started.elapsed()));
                all.push(found);
            }
            Err(error) => {
                println!("  {target}: {error:#}");
                tally += Tally::one(false);
            }
        }
    }
    for line in table(&all) {
        println!("{line}");
    }
    report(&windlass, &all, &place)?;
    Ok(tally)
}

/// Starts one target, probes it and runs the laboratory on it.
fn one(windlass: &Path, name: &'static str, options: &Options, place: &Path, tally: &mut Tally) -> Result<Found> {
    let guest = name == "lio";
    let target = Target::start(windlass, name, if guest { GUEST_SIZE_MIB } else { SIZE_MIB })?;
    let (url, second) = (target.url(), target.second_url());
    let probed =
        spoken(windlass, &["probe", &url, "--write-test", "-o", "json", "--answer-timeout", ANSWER_S], PROBE_LIMIT)?;
    let known = KNOWN.iter().find(|(known, _)| *known == name).map(|(_, has)| has).context("an unknown target")?;
    let mut primitives = Vec::new();
    for (primitive, has) in PRIMITIVES.iter().zip(known) {
        let verdict = entry(&probed, "primitives", "primitive", primitive).context("the probe left a primitive out")?;
        let (status, reason) = (word(verdict, "status"), word(verdict, "reason"));
        let right = (status == "Supported") == *has && status != "Unknown";
        *tally += Tally::one(right);
        if !right {
            println!("  {name}: the probe says of {primitive}: {status} ({reason}), which is not so");
        }
        primitives.push(status.to_owned());
    }
    if options.probe_only {
        return Ok(Found { target: name, primitives, run: None });
    }
    let file = place.join(format!("{name}.json"));
    let kept = file.to_str().context("the directory's name is not UTF-8")?;
    let pairs = options.pairs.to_string();
    let scale = if guest { GUEST_SCALE } else { options.size.as_str() };
    let mut arguments = vec!["lab", "run"];
    match options.case.is_empty() {
        true => arguments.push("all"),
        false => arguments.extend(options.case.iter().map(String::as_str)),
    }
    arguments.extend([url.as_str(), second.as_str(), "--pairs", &pairs, "--size", scale, "--save", kept]);
    arguments.extend(["--answer-timeout", ANSWER_S, "-o", "json"]);
    // Both units are new; not every target can report that nothing is mapped.
    for unit in [&url, &second] {
        let name = unit.splitn(4, '/').nth(3).context("a URL without a target")?;
        arguments.extend(["--destroy-data", name]);
    }
    let document = spoken(windlass, &arguments, LAB_LIMIT)?;
    for case in document.get("cases").and_then(Value::as_array).context("the laboratory's document has no cases")? {
        let passed = case.get("check_passed") == Some(&json!(true));
        let left_out = case.get("skipped").and_then(Value::as_str);
        *tally += Tally::one(passed || left_out.is_some());
        if !passed {
            let why =
                left_out.map_or_else(|| case.get("failures").map(Value::to_string).unwrap_or_default(), str::to_owned);
            println!("  {name}: {}: {why}", word(case, "case"));
        }
    }
    Ok(Found { target: name, primitives, run: Some(document) })
}

/// Runs the kit to its end and parses its output.
fn spoken(windlass: &Path, arguments: &[&str], limit: Duration) -> Result<Value> {
    let finished = program::run(windlass, arguments, limit)?;
    let status = finished.status.with_context(|| format!("it did not end within {} s", limit.as_secs()))?;
    let ended = status.code().is_some_and(|code| SPOKEN.contains(&code));
    ensure!(ended, "windlass {} ended with {status}: {}", arguments.join(" "), finished.stderr.trim());
    serde_json::from_str(&finished.stdout).with_context(|| format!("it printed no JSON: {}", finished.stdout))
}

/// The element of a list whose `field` is `name`.
fn entry<'a>(document: &'a Value, list: &str, field: &str, name: &str) -> Option<&'a Value> {
    document.get(list)?.as_array()?.iter().find(|entry| entry.get(field).and_then(Value::as_str) == Some(name))
}

fn word<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Writes one page with all results, as HTML and as Markdown.
fn report(windlass: &Path, all: &[Found], place: &Path) -> Result<()> {
    let kept: Vec<PathBuf> = all
        .iter()
        .filter(|found| found.run.is_some())
        .map(|found| place.join(format!("{}.json", found.target)))
        .collect();
    if kept.is_empty() {
        return Ok(());
    }
    for (name, more) in [("comparison.html", None), ("comparison.md", Some("--markdown"))] {
        let file = place.join(name);
        let mut arguments: Vec<&Path> = vec![Path::new("lab"), Path::new("report")];
        arguments.extend(kept.iter().map(PathBuf::as_path));
        arguments.extend([Path::new("--to"), &file]);
        arguments.extend(more.map(Path::new));
        program::require(windlass, &arguments, PROBE_LIMIT)?;
        println!("  {}", file.display());
    }
    Ok(())
}

/// Markdown table of primitives and speed-up of each case, with a column for each target.
fn table(all: &[Found]) -> Vec<String> {
    let mut rows = vec![
        std::iter::once("|".to_owned())
            .chain(all.iter().map(|found| format!("| {}", found.target)))
            .collect::<Vec<_>>(),
        std::iter::once("| ---".to_owned()).chain(all.iter().map(|_| "| ---".to_owned())).collect(),
    ];
    for (index, primitive) in PRIMITIVES.iter().enumerate() {
        let cells =
            all.iter().map(|found| found.primitives.get(index).map(|word| format!("| {word}")).unwrap_or_default());
        rows.push(std::iter::once(format!("| probe: {primitive}")).chain(cells).collect());
    }
    let mut cases: Vec<&str> = Vec::new();
    for case in all.iter().filter_map(|found| found.run.as_ref()?.get("cases")?.as_array()).flatten() {
        if !cases.contains(&word(case, "case")) {
            cases.push(word(case, "case"));
        }
    }
    for name in cases {
        let cells =
            all.iter().map(|found| format!("| {}", found.run.as_ref().map(|run| cell(run, name)).unwrap_or_default()));
        rows.push(std::iter::once(format!("| {name}")).chain(cells).collect());
    }
    for row in &mut rows {
        row.push("|".to_owned());
    }
    text::columns::lines(&vec![Align::Left; all.len() + 2], &rows)
}

/// Seconds without and with the primitive; for a case that does not measure time, whether it
/// passed.
fn cell(run: &Value, name: &str) -> String {
    let Some(case) = entry(run, "cases", "case", name) else { return String::new() };
    if let Some(why) = case.get("skipped").and_then(Value::as_str) {
        return format!("– ({why})");
    }
    if case.get("check_passed") != Some(&json!(true)) {
        return "failed".to_owned();
    }
    let seconds = |side: &str| case.get(side)?.get("measures")?.get("seconds")?.get("median")?.as_f64();
    match (seconds("off"), seconds("on")) {
        (Some(off), Some(on)) if on > 0.0 => format!("{off:.2} s → {on:.3} s ({:.1} ×)", off / on),
        (Some(off), None) => format!("{off:.2} s → –"),
        _ => "passed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_shows_both_times_or_why_it_was_left_out() {
        let side = |seconds: f64| json!({ "measures": { "seconds": { "median": seconds } } });
        let run = json!({ "cases": [
            { "case": "a", "check_passed": true, "off": side(4.0), "on": side(0.5) },
            { "case": "b", "check_passed": false, "skipped": "no EXTENDED COPY", "off": {}, "on": {} },
            { "case": "c", "check_passed": false, "off": side(1.0), "on": side(1.0) },
        ] });
        let cells: Vec<_> = ["a", "b", "c", "d"].iter().map(|name| cell(&run, name)).collect();
        assert_eq!(cells, ["4.00 s → 0.500 s (8.0 ×)", "– (no EXTENDED COPY)", "failed", ""]);
    }

    #[test]
    fn the_table_has_a_column_for_each_target() {
        let found = |target| Found { target, primitives: vec!["Supported".into(); 4], run: None };
        let lines = table(&[found("windlass"), found("tgt")]);
        assert_eq!(lines.len(), 6);
        assert!(lines.iter().all(|line| line.matches('|').count() == 4), "{lines:?}");
    }
}
