//! How many instructions do the pool's core and a share execute? Valgrind's callgrind counts those of
//! `pool/examples/instructions.rs` for two numbers of operations; the difference belongs to the
//! operations alone. Of `pool_files/examples/share_instructions.rs`, it counts those inside of the calls, on a share
//! whose root has 100 000 entries. Checksums (CRC) and copies of content are counted separately:
//! they depend on the processor, and Valgrind supports only the older instructions for them.
//! Instructions per operation: lower is better; it needs no quiet machine. At the small size the compiler
//! optimises less, and there are more of them.

use super::{example_of, pool_example};
use crate::Options;
use crate::report::Report;
use crate::targets::memory_directory;
use anyhow::{Result, ensure};
use array_process::program;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) const ASKS: &str = "instructions of a map lookup, a 4 KiB write and a 16 MiB clone";
pub(super) const ASKS_OF_SHARES: &str = "instructions of calls of a share: attributes, look-up, creation, write, clone";

/// Kind, description, two numbers of operations, and the budget, if any.
const KINDS: [(&str, &str, [u64; 2], Option<f64>); 4] = [
    ("lookup", "map lookup", [3200, 6400], Some(300.0)),
    ("write", "4 KiB write into the log and the map", [3200, 6400], Some(1350.0)),
    ("steady", "4 KiB write that goes on to its place, checkpoints included", [6400, 12800], None),
    ("clone", "aligned 16 MiB clone", [800, 4000], Some(5000.0)),
];

/// Kind, description and budget of calls of a share.
const CALLS: [(&str, &str, Option<f64>); 5] = [
    ("attributes", "look at the attributes of a file", Some(2000.0)),
    ("lookup", "look-up of a name among 100 000", Some(8000.0)),
    ("create", "creation of a file among 100 000", Some(32_000.0)),
    ("write", "4 KiB write into a file", Some(11_000.0)),
    ("clone", "clone of a file of 16 MiB", Some(41_000.0)),
];
/// Number of counted calls of a share.
const COUNTED_CALLS: u32 = 400;
/// Function of `share_instructions` whose instructions count.
const COUNTED: &str = "share_instructions::measured";

/// Functions that process content and not the map.
const CONTENT: [&str; 4] = ["crc_fast", "memcpy", "memmove", "memset"];

const LIMIT: Duration = Duration::from_secs(900);

pub(super) fn answer(_windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let Some(valgrind) = valgrind(report) else { return Ok(()) };
    let example = pool_example("instructions", options, LIMIT)?.display().to_string();
    let directory = tempfile::tempdir_in(memory_directory()?)?;
    let out = directory.path().join("out");
    for (kind, what, counts, budget) in KINDS {
        let mut costs = Vec::new();
        for count in counts {
            costs.push(Cost::of(&valgrind, &out, &[], &[&example, kind, &count.to_string()])?);
        }
        let [less, more] = &costs[..] else { continue };
        tell(report, (kind, what, budget), more.less(less), (counts[1] - counts[0]) as f64)?;
    }
    Ok(())
}

pub(super) fn answer_of_shares(_windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let Some(valgrind) = valgrind(report) else { return Ok(()) };
    let directory = tempfile::tempdir_in(memory_directory()?)?;
    let out = directory.path().join("out");
    let example = example_of("pool_files", "share_instructions", options, LIMIT)?.display().to_string();
    let disk = directory.path().join("disk").display().to_string();
    program::require(Path::new(&example), &["prepare", &disk], LIMIT)?;
    for (kind, what, budget) in CALLS {
        let counted = format!("--toggle-collect={COUNTED}*");
        let cost = Cost::of(&valgrind, &out, &[&counted], &[&example, kind, &COUNTED_CALLS.to_string(), &disk])?;
        tell(report, (kind, what, budget), cost, COUNTED_CALLS.into())?;
    }
    Ok(())
}

/// Path of valgrind. Without it, the report says so.
fn valgrind(report: &mut Report) -> Option<PathBuf> {
    let found = program::find("valgrind");
    if found.is_none() {
        report.fact("not counted: valgrind is not installed; on Debian and Ubuntu: apt-get install valgrind".into());
    }
    found
}

/// Instructions of a run.
#[derive(Clone, Copy)]
struct Cost {
    /// Those that process content.
    content: u64,
    others: u64,
}

impl Cost {
    /// Counts the instructions of a program, with options of callgrind.
    fn of(valgrind: &Path, out: &Path, options: &[&str], program: &[&str]) -> Result<Self> {
        let file = format!("--callgrind-out-file={}", out.display());
        program::require(valgrind, &[&["--tool=callgrind", &file], options, program].concat(), LIMIT)?;
        let costs = costs_by_function(&std::fs::read_to_string(out)?);
        let touches = |name: &str| CONTENT.iter().any(|part| name.contains(part));
        let sum = |content: bool| costs.iter().filter(|(name, _)| touches(name) == content).map(|(_, cost)| cost).sum();
        Ok(Self { content: sum(true), others: sum(false) })
    }

    fn less(self, other: &Self) -> Self {
        Self { content: self.content.saturating_sub(other.content), others: self.others.saturating_sub(other.others) }
    }
}

/// Reports the cost of each of `count` operations.
fn tell(report: &mut Report, (kind, what, budget): (&str, &str, Option<f64>), cost: Cost, count: f64) -> Result<()> {
    let (others, content) = (cost.others as f64 / count, cost.content as f64 / count);
    ensure!(others > 0.0, "{kind}: callgrind counted nothing");
    match budget {
        Some(budget) => report.at_most(&format!("instructions of a {what}"), others, budget, "instructions"),
        None => report.fact(format!("{what}: {others:.0} instructions")),
    }
    if content > 100.0 {
        report.fact(format!("{what}: checksums and copies of its content take {content:.0} more"));
    }
    Ok(())
}

/// Exclusive cost of each function, from callgrind's file: a position line `fn=(number) name` (with
/// the name only at first use), then lines `line cost`; a line after `calls=` is the cost of the
/// called function, which has lines of its own.
fn costs_by_function(text: &str) -> HashMap<String, u64> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut costs: HashMap<&str, u64> = HashMap::new();
    let (mut function, mut of_callee) = ("", false);
    for line in text.lines() {
        let named = |rest: &'static str| line.strip_prefix(rest).and_then(|rest| rest.split_once(')'));
        if let Some((number, name)) = named("fn=(").or_else(|| named("cfn=(")) {
            if !name.trim().is_empty() {
                names.insert(number, name.trim());
            }
            if line.starts_with("fn=") {
                function = number;
            }
        } else if line.starts_with("calls=") {
            of_callee = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first))
            && !std::mem::take(&mut of_callee)
            && let Some(cost) = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<u64>().ok())
        {
            *costs.entry(function).or_default() += cost;
        }
    }
    let mut by_name: HashMap<String, u64> = HashMap::new();
    for (number, cost) in costs {
        *by_name.entry(names.get(number).copied().unwrap_or_default().to_owned()).or_default() += cost;
    }
    by_name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_does_not_count_twice() {
        let text =
            "events: Ir\nfn=(1) main\n10 5\ncfn=(2) pool::work\ncalls=3 20\n11 300\n+1 2\n\nfn=(2)\n20 300\n* 7\n";
        let costs = costs_by_function(text);
        assert_eq!((costs["main"], costs["pool::work"]), (7, 307));
    }
}
