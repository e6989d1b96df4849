//! How many instructions does the pool's core execute? Valgrind's callgrind counts those of
//! `pool/examples/instructions.rs` for two numbers of operations; the difference belongs to the
//! operations alone. Checksums (CRC) and copies of the 4 KiB of a write are counted separately:
//! they depend on the processor, and Valgrind supports only the older instructions for them.
//! Instructions per operation: lower is better. Equal for both sizes; it needs no quiet machine.

use super::pool_example;
use crate::Options;
use crate::report::Report;
use anyhow::{Result, ensure};
use array_process::program;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

pub(super) const ASKS: &str = "instructions of a map lookup, a 4 KiB write and a 16 MiB clone";

/// Kind, description, two numbers of operations, and the budget, if any.
const KINDS: [(&str, &str, [u64; 2], Option<f64>); 4] = [
    ("lookup", "map lookup", [3200, 6400], Some(300.0)),
    ("write", "4 KiB write into the log and the map", [3200, 6400], Some(1350.0)),
    ("steady", "4 KiB write that goes on to its place, checkpoints included", [6400, 12800], None),
    ("clone", "aligned 16 MiB clone", [800, 4000], Some(5000.0)),
];

/// Functions that process content and not the map.
const CONTENT: [&str; 4] = ["crc_fast", "memcpy", "memmove", "memset"];

const LIMIT: Duration = Duration::from_secs(900);

pub(super) fn answer(_windlass: &Path, _options: &Options, report: &mut Report) -> Result<()> {
    let Some(valgrind) = program::find("valgrind") else {
        report.fact("not counted: valgrind is not installed; on Debian and Ubuntu: apt-get install valgrind".into());
        return Ok(());
    };
    let example = pool_example("instructions", LIMIT)?.display().to_string();
    let directory = tempfile::tempdir()?;
    for (kind, what, counts, budget) in KINDS {
        let mut costs = Vec::new();
        for count in counts {
            let out = directory.path().join(format!("{kind}.{count}"));
            let option = format!("--callgrind-out-file={}", out.display());
            let count = count.to_string();
            program::require(&valgrind, &["--tool=callgrind", &option, &example, kind, &count], LIMIT)?;
            costs.push(costs_by_function(&std::fs::read_to_string(&out)?));
        }
        let [less, more] = &costs[..] else { continue };
        let sum = |costs: &HashMap<String, u64>, content: bool| -> u64 {
            let touches = |name: &str| CONTENT.iter().any(|part| name.contains(part));
            costs.iter().filter(|(name, _)| touches(name) == content).map(|(_, cost)| cost).sum()
        };
        let each = |content: bool| {
            let difference = sum(more, content).saturating_sub(sum(less, content));
            difference as f64 / (counts[1] - counts[0]) as f64
        };
        ensure!(each(false) > 0.0, "{kind}: callgrind counted nothing");
        match budget {
            Some(budget) => report.at_most(&format!("instructions of a {what}"), each(false), budget, "instructions"),
            None => report.fact(format!("{what}: {:.0} instructions", each(false))),
        }
        if each(true) > 100.0 {
            report.fact(format!("{what}: checksums and copies of its content take {:.0} more", each(true)));
        }
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
