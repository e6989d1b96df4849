//! `cargo xtask waits`: checks that no test sleeps a fixed time for an event, or asserts a short
//! duration.
//!
//! Such a test fails on a busy machine and proves nothing on a fast one. A test has to wait for a
//! condition, with a deadline far beyond the needs of a busy machine; time that a test measures is
//! virtual. This check reads the sources of tests line by line: a sleep near a loop or a deadline
//! is a poll, and a sleep of a clock object is virtual. Every other wait has to be listed in the
//! table, with its reason.

use crate::tally::Tally;
use crate::workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Files with their permitted number of fixed waits, each with the reason.
const ALLOWED: &[(&str, usize, &str)] = &[
    ("engine/pool/src/core/large_tests.rs", 1, "processor time of its own thread, against that of another step"),
    ("testing/array_sim/src/host/tests.rs", 1, "virtual time"),
    ("testing/array_sim/src/tests.rs", 1, "virtual time"),
    ("testing/array_sim/src/tests/limits.rs", 2, "virtual time"),
    ("array/windlass/tests/array/tokens.rs", 1, "a token expires with time; the pauses grow until it has"),
];

/// Lines before and after a sleep in which a loop or a deadline makes it a poll.
const BEFORE: usize = 8;
const AFTER: usize = 3;

/// Checks every source of tests; one check per file.
pub(crate) fn run() -> Result<Tally> {
    let crates = workspace::root().join("crates");
    let mut sources = Vec::new();
    collect(&crates, &mut sources)?;
    sources.sort();
    let mut tally = Tally::default();
    for path in sources {
        let source = fs::read_to_string(crates.join(&path)).with_context(|| path.clone())?;
        let Some(first) = first_line_of_tests(&path, &source) else { continue };
        let waits = fixed_waits(&source, first);
        let allowed = ALLOWED.iter().find(|(allowed, ..)| *allowed == path).map_or(0, |(_, count, _)| *count);
        let fine = waits.len() <= allowed;
        if !fine {
            for (number, line) in waits {
                println!("  crates/{path}:{number}: a fixed wait, or a bound of wall time: {line}");
            }
        }
        tally += Tally::one(fine);
    }
    Ok(tally)
}

/// Paths of Rust sources below `crates`, relative to it. This file is left out: it mentions sleeps,
/// but has none.
fn collect(crates: &Path, sources: &mut Vec<String>) -> Result<()> {
    let mut folders = vec![crates.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !path.ends_with("xtask/src/waits.rs")
            {
                let relative = path.strip_prefix(crates).unwrap_or(&path);
                sources.push(relative.display().to_string());
            }
        }
    }
    Ok(())
}

/// Index of the first line that belongs to tests; `None` in a source without any.
fn first_line_of_tests(path: &str, source: &str) -> Option<usize> {
    if path.contains("/tests/") || path.ends_with("tests.rs") {
        return Some(0);
    }
    let lines: Vec<&str> = source.lines().collect();
    lines.windows(2).position(|two| two[0] == "#[cfg(test)]" && two[1].starts_with("mod ") && two[1].ends_with('{'))
}

/// Numbers and text of the lines from `first` on that wait a fixed time or bound wall time.
fn fixed_waits(source: &str, first: usize) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let is_poll = |at: usize| {
        let around = &lines[at.saturating_sub(BEFORE).max(first)..(at + AFTER).min(lines.len())];
        around.iter().any(|line| ["deadline", "while ", "loop {", "elapsed()"].iter().any(|word| line.contains(word)))
    };
    let waits = |at: usize| sleeps(lines[at]) && !is_poll(at) || bounds_wall_time(lines[at]);
    (first..lines.len())
        .filter(|at| !lines[*at].starts_with("//") && waits(*at))
        .map(|at| (at + 1, lines[at]))
        .collect()
}

/// Whether the line sleeps in the thread or the runtime; `clock.sleep(…)` belongs to a virtual
/// clock.
fn sleeps(line: &str) -> bool {
    let mut rest = line;
    while let Some(at) = rest.find("sleep(") {
        let before = &rest[..at];
        let of_an_object = before.ends_with('.') || before.ends_with("fn ");
        let longer_name = before.chars().next_back().is_some_and(|last| last.is_alphanumeric() || last == '_');
        if !of_an_object && !longer_name {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

/// Whether the line asserts that something took less than some seconds; half a minute and more
/// counts as a deadline.
fn bounds_wall_time(line: &str) -> bool {
    let measured = ["elapsed()", "(took", "took."].iter().any(|word| line.contains(word));
    let Some((_, bound)) = line.split_once(" < ").filter(|_| line.starts_with("assert") && measured) else {
        return false;
    };
    let number = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u64>().ok();
    match bound.split_once("from_secs(") {
        Some((_, seconds)) => number(seconds).is_some_and(|seconds| seconds < 30),
        None => bound.contains("from_millis(") || number(bound).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<usize> {
        fixed_waits(source, 0).into_iter().map(|(number, _)| number).collect()
    }

    #[test]
    fn a_fixed_wait_is_found_and_a_poll_is_not() {
        assert_eq!(found("start();\nstd::thread::sleep(PAUSE);\nassert!(done());\n"), [2]);
        assert_eq!(found("sleep(Duration::from_millis(50)).await;\n"), [1]);
        assert_eq!(found("while !done() {\n    thread::sleep(PAUSE);\n}\n"), [0; 0]);
        assert_eq!(found("assert!(Instant::now() < deadline);\nthread::sleep(PAUSE);\n"), [0; 0]);
        assert_eq!(found("clock.sleep(PAUSE).await;\n// thread::sleep(PAUSE)\nfn sleep(time: Duration) {}\n"), [0; 0]);
    }

    #[test]
    fn a_bound_of_wall_time_is_found_and_a_deadline_is_not() {
        assert_eq!(found("assert!(took.as_secs_f64() < 2.0, \"{took:?}\");\n"), [1]);
        assert_eq!(found("assert!(began.elapsed() < Duration::from_secs(5));\n"), [1]);
        assert_eq!(
            found("assert!(began.elapsed() < Duration::from_secs(60));\nassert!(began.elapsed() < PATIENCE);\n"),
            [0; 0]
        );
    }

    #[test]
    fn only_tests_are_looked_at() {
        assert_eq!(first_line_of_tests("a/src/lib.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n"), Some(1));
        assert_eq!(first_line_of_tests("a/src/lib.rs", "fn f() {}\n#[cfg(test)]\nmod tests;\n"), None);
        assert_eq!(first_line_of_tests("a/tests/main.rs", ""), Some(0));
    }
}
