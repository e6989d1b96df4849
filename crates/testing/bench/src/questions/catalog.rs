//! What do many volumes cost the pool? `pool/examples/catalog` creates them in a pool in memory, with
//! 20 000 documents, deletes the oldest and creates another one again and again, and opens the pool.
//! Instructions of a deletion and a creation beside a pool of 1 000 volumes (callgrind's, so that
//! it needs no quiet machine), bytes of a checkpoint after one changed document, seconds to open,
//! most resident memory of a process that opens it: lower is better. Small: 4 000 volumes. Large: 1 000 000, and 100
//! 000 for the instructions.

use super::pool_example;
use crate::Options;
use crate::report::{Report, short};
use crate::targets::memory_directory;
use anyhow::{Context, Result};
use array_process::program;
use std::path::Path;
use std::time::Duration;

pub(super) const ASKS: &str = "many volumes: opening, deletion and creation, a changed document";

const LIMIT: Duration = Duration::from_secs(1800);
/// Volumes of the pool that the others are compared with.
const FEW: u64 = 1000;
/// Changes of the two runs whose difference is counted.
const CHANGES: [u64; 2] = [500, 1500];

pub(super) fn answer(_windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let example = pool_example("catalog", options, LIMIT)?;
    let folder = memory_directory()?.display().to_string();
    let objects = if options.small { 4 * FEW } else { 1000 * FEW };
    let output = program::require(&example, &[&folder, &objects.to_string(), "2000"], LIMIT)?;
    let number = |name: &str| -> Result<f64> {
        let line = output.stdout.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse().ok()).with_context(|| format!("the example did not say {name}"))
    };
    report.fact(format!(
        "{objects} volumes: a deletion and a creation take {} µs, a checkpoint after one changed volume {} ms; resident {} MiB, while opening {}",
        short(number("delete-and-create ")?),
        short(number("checkpoint-of-one-object ")?),
        short(number("resident ")?),
        short(number("resident-at-most ")?)
    ));
    report.at_most(
        "checkpoint after one changed document of 20 000",
        number("checkpoint-of-one-document ")? / 1024.0,
        64.0,
        "KiB",
    );
    report.at_most(&format!("opening a pool with {objects} volumes"), number("open ")?, 5.0, "s");
    report.at_most(&format!("resident memory with {objects} volumes"), number("resident-at-most ")?, 96.0, "MiB");
    let Some(valgrind) = program::find("valgrind") else {
        report.fact("instructions not counted: valgrind is not installed".into());
        return Ok(());
    };
    let example = example.display().to_string();
    let many = if options.small { 2 * FEW } else { 100 * FEW };
    let cost = |objects: u64| -> Result<f64> {
        let mut totals = Vec::new();
        for changes in CHANGES {
            totals.push(instructions(&valgrind, &[&example, &folder, &objects.to_string(), &changes.to_string()])?);
        }
        Ok((totals[1] - totals[0]) / (CHANGES[1] - CHANGES[0]) as f64)
    };
    let (few, many_cost) = (cost(FEW)?, cost(many)?);
    report.fact(format!(
        "a deletion and a creation: {few:.0} instructions with {FEW} volumes, {many_cost:.0} with {many}"
    ));
    report.at_most(&format!("the same with {many} volumes, beside {FEW}"), many_cost / few, 1.2, "×");
    Ok(())
}

/// Instructions of a run of a program.
fn instructions(valgrind: &Path, words: &[&str]) -> Result<f64> {
    let directory = tempfile::tempdir()?;
    let out = directory.path().join("out");
    let option = format!("--callgrind-out-file={}", out.display());
    program::require(valgrind, &[&["--tool=callgrind", &option], words].concat(), LIMIT)?;
    let text = std::fs::read_to_string(&out)?;
    let total = text.lines().find_map(|line| line.strip_prefix("summary: ").or(line.strip_prefix("totals: ")));
    total.and_then(|total| total.trim().parse().ok()).context("callgrind counted nothing")
}
