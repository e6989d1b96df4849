//! Comparison of two runs: of two arrays, or of one array before and after a change.

use crate::results::{Better, CaseResult, Run, SideResult, Verdict};
use crate::table::{aligned, number};
use std::collections::BTreeSet;
use std::fmt::Write;
use text::terminal::harmless;

/// Smallest change that counts, if the spreads of the rounds do not overlap.
const NOTABLE: f64 = 0.05;

/// Formats a table for each case that both runs have: the medians of each side in both runs, and
/// how much better the second is.
pub fn compare((first_name, first): (&str, &Run), (second_name, second): (&str, &Run)) -> String {
    let mut out = String::new();
    let (first_name, second_name) = (&harmless(first_name), &harmless(second_name));
    for (name, run) in [(first_name, first), (second_name, second)] {
        let subject = run.subjects.first();
        let what = subject.map(|one| harmless(&format!("{} {} {}", one.vendor, one.product, one.revision)));
        let what = what.unwrap_or_default();
        let size = harmless(&run.size);
        // Writing to a string does not fail.
        let _ = writeln!(out, "{name}: {} · {} · size {size} · pairs {}", what.trim(), run.started, run.pairs);
    }
    out.push('\n');
    for one in &first.cases {
        match second.cases.iter().find(|case| case.case == one.case) {
            Some(other) => out.push_str(&case(one, other)),
            None => {
                let _ = writeln!(out, "{}: only in {first_name}", harmless(&one.case));
            }
        }
    }
    for other in second.cases.iter().filter(|case| !first.cases.iter().any(|one| one.case == case.case)) {
        let _ = writeln!(out, "{}: only in {second_name}", harmless(&other.case));
    }
    out
}

fn case(first: &CaseResult, second: &CaseResult) -> String {
    let word = |case: &CaseResult| match case.verdict() {
        Verdict::Passed => "passed",
        Verdict::Failed => "FAILED",
        Verdict::NotRun => "not run or incomplete",
    };
    let mut out = format!("{}  {} → {}\n", harmless(&first.case), word(first), word(second));
    let mut rows = vec![["MEASURE", "SIDE", "FIRST", "SECOND", "CHANGE", ""].map(str::to_owned).to_vec()];
    for (side, one, other) in [("off", &first.off, &second.off), ("on", &first.on, &second.on)] {
        let names: BTreeSet<&String> = one.measures.keys().filter(|name| other.measures.contains_key(*name)).collect();
        rows.extend(names.into_iter().filter_map(|name| row(side, name, one, other)));
    }
    if rows.len() > 1 {
        out.push_str(&aligned(&rows));
    }
    out.push('\n');
    out
}

fn row(side: &str, name: &str, first: &SideResult, second: &SideResult) -> Option<Vec<String>> {
    let (one, other) = (first.measures.get(name)?, second.measures.get(name)?);
    let change = other.median / one.median - 1.0;
    let text = if change.is_finite() { format!("{:+.1} %", change * 100.0) } else { "–".into() };
    // Spreads that overlap show no difference.
    let apart = one.high < other.low || other.high < one.low;
    let verdict = match (change.is_finite() && change.abs() >= NOTABLE && apart, one.better) {
        (false, _) | (_, Better::Neither) => "",
        (true, Better::Lower) if change < 0.0 => "better",
        (true, Better::Higher) if change > 0.0 => "better",
        (true, _) => "worse",
    };
    Some(vec![
        name.into(),
        side.into(),
        number(one.median, one.unit),
        number(other.median, other.unit),
        text,
        verdict.into(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Machine, Measure, Unit, VERSION};
    use jiff::Timestamp;

    fn run(values: &[f64]) -> Run {
        let measure = Measure::of(values, Unit::Seconds, Better::Lower);
        let side = SideResult {
            measures: measure.into_iter().map(|measure| ("seconds".to_owned(), measure)).collect(),
            ..SideResult::default()
        };
        Run {
            version: VERSION,
            windlass: "w".into(),
            started: Timestamp::UNIX_EPOCH,
            ended: Timestamp::UNIX_EPOCH,
            machine: Machine::default(),
            pairs: 1,
            size: "small".into(),
            subjects: Vec::new(),
            cases: vec![CaseResult { case: "c".into(), check_passed: true, on: side, ..CaseResult::default() }],
            ended_early: None,
        }
    }

    #[test]
    fn a_change_counts_when_the_spreads_are_apart() {
        let verdict = |first: &[f64], second: &[f64]| {
            let text = compare(("a", &run(first)), ("b", &run(second)));
            let line = text.lines().find(|line| line.contains("seconds")).unwrap_or_default();
            line.rsplit(' ').next().unwrap_or_default().to_owned()
        };
        assert_eq!(verdict(&[1.0, 1.1, 1.2], &[0.5, 0.6, 0.7]), "better");
        assert_eq!(verdict(&[0.5, 0.6], &[1.0, 1.1]), "worse");
        assert_eq!(verdict(&[1.0, 1.1, 1.2], &[0.9, 1.15, 1.3]), "%");
    }

    #[test]
    fn names_do_not_control_the_terminal() {
        let mut hostile = run(&[1.0]);
        hostile.size = "\u{1b}c".into();
        hostile.subjects = vec![crate::results::Subject { vendor: "\u{1b}[2J".into(), ..Default::default() }];
        for case in &mut hostile.cases {
            case.case = "a\nb  passed\u{9b}2J".into();
        }
        for text in [
            compare(("\u{1b}1", &hostile), ("\u{1b}2", &hostile)),
            compare(("1", &run(&[1.0])), ("2", &hostile)),
            compare(("1", &hostile), ("2", &run(&[1.0]))),
            crate::table::run(&hostile),
        ] {
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
            assert!(!text.lines().any(|line| line.starts_with("b  passed")), "{text}");
        }
    }
}
