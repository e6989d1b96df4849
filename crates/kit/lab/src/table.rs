//! Results as tables, with the paper's figure beside ours.

use crate::results::{Better, CaseResult, Measure, Paper, PaperFigure, Run, SideResult, Unit, Verdict};
use std::collections::BTreeSet;
use std::fmt::Write;
use text::columns::{self, Align};
use text::terminal::harmless;

/// Formats a number in a fitting unit.
pub fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => seconds(value),
        Unit::Bytes => bytes(value),
        Unit::BytesPerSecond => format!("{}/s", bytes(value)),
        Unit::PerSecond if value >= 100.0 => format!("{value:.0}/s"),
        Unit::PerSecond => format!("{value:.1}/s"),
        Unit::Count => format!("{value:.0}"),
        Unit::Ratio if value.abs() < 0.1 => format!("{:.2} %", value * 100.0),
        Unit::Ratio => format!("{:.1} %", value * 100.0),
    }
}

fn seconds(value: f64) -> String {
    match value {
        0.0 => "0 s".into(),
        value if value < 0.001 => format!("{:.0} µs", value * 1e6),
        value if value < 1.0 => format!("{:.1} ms", value * 1e3),
        value if value < 600.0 => format!("{value:.2} s"),
        value => format!("{:.0}:{:02.0}", (value / 60.0).floor(), value % 60.0),
    }
}

fn bytes(value: f64) -> String {
    // Saturates; sizes are far below 2^64.
    let text = text::size::format(value.abs().round() as u64);
    if value < -0.5 { format!("−{text}") } else { text }
}

/// Formats the ratio of on and off, inverted where needed so that more than one is better.
fn factor(off: f64, on: f64, better: Better) -> String {
    let times = match better {
        Better::Lower => off / on,
        Better::Higher | Better::Neither => on / off,
    };
    match times {
        times if !times.is_finite() => "–".into(),
        times if times >= 99.5 => format!("{times:.0} ×"),
        times => format!("{times:.2} ×"),
    }
}

/// Formats the paper's figure for a measure.
fn paper_figure(figure: &PaperFigure) -> String {
    match (figure.off, figure.on, figure.ratio) {
        (Some(off), Some(on), _) => format!("{} → {}", number(off, figure.unit), number(on, figure.unit)),
        (Some(off), None, _) => format!("{} off", number(off, figure.unit)),
        (None, Some(on), _) => format!("{} on", number(on, figure.unit)),
        (None, None, Some(ratio)) => format!("{:+.0} %", (ratio - 1.0) * 100.0),
        (None, None, None) => String::new(),
    }
}

/// Formats a median with its spread.
fn median(side: Option<&SideResult>, name: &str) -> String {
    match side.and_then(|side| side.measures.get(name)) {
        None => "–".into(),
        Some(Measure { median, low, high, unit, .. }) => {
            let text = number(*median, *unit);
            // Half of the spread, when it would be visible.
            let spread = (high - low) / 2.0 / median.abs();
            if spread.is_finite() && spread >= 0.005 { format!("{text} ±{:.0} %", spread * 100.0) } else { text }
        }
    }
}

/// Measures shown first, after those that the paper has.
const FIRST: [&str; 4] = ["seconds", "read_iops", "write_iops", "bytes_per_second"];

fn measures(case: &CaseResult) -> Vec<String> {
    let names: BTreeSet<&String> = case.off.measures.keys().chain(case.on.measures.keys()).collect();
    let rank = |name: &str, paper: &Paper| {
        let paper_figure = paper.figures.iter().position(|figure| figure.measure == name);
        let first = FIRST.iter().position(|first| name.starts_with(first));
        (paper_figure.unwrap_or(usize::MAX), first.unwrap_or(usize::MAX))
    };
    let mut names: Vec<String> = names.into_iter().cloned().collect();
    names.sort_by_key(|name| rank(name, &case.paper));
    names
}

/// Formats one case.
pub fn case(case: &CaseResult) -> String {
    let mut out = String::new();
    let state = match case.verdict() {
        Verdict::Failed => "FAILED",
        Verdict::NotRun if case.off.measures.is_empty() && case.on.measures.is_empty() => "not run",
        Verdict::NotRun => "incomplete",
        Verdict::Passed => "passed",
    };
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}  {state}  {:.1} s\n  {}", harmless(&case.case), case.seconds, harmless(&case.title));
    if !case.paper.test.is_empty() {
        let [test, system, words] =
            [&case.paper.test, &case.paper.system, &case.paper.words].map(|text| harmless(text));
        let _ = writeln!(out, "  {test} ({system}): {words}");
    }
    let others: Vec<&String> = case.others.keys().collect();
    let mut rows = vec![vec!["MEASURE".to_owned(), "OFF".into(), "ON".into(), "BETTER".into(), "PAPER".into()]];
    if let Some(heading) = rows.first_mut() {
        heading.extend(others.iter().map(|name| name.to_uppercase()));
    }
    for name in measures(case) {
        let (off, on) = (case.off.measures.get(&name), case.on.measures.get(&name));
        let better = match (off, on) {
            (Some(off), Some(on)) if off.better != Better::Neither => factor(off.median, on.median, off.better),
            _ => "–".into(),
        };
        let paper =
            case.paper.figures.iter().find(|figure| figure.measure == name).map(paper_figure).unwrap_or_default();
        let mut row = vec![name.clone(), median(Some(&case.off), &name), median(Some(&case.on), &name), better, paper];
        row.extend(others.iter().map(|other| median(case.others.get(*other), &name)));
        rows.push(row);
    }
    if rows.len() > 1 {
        out.push_str(&aligned(&rows));
    }
    for (word, side) in [("off", &case.off), ("on", &case.on)] {
        let moved: Vec<String> = side
            .moved_bytes
            .iter()
            .map(|(reason, count)| format!("{} {}", bytes(*count as f64), harmless(reason)))
            .collect();
        if !moved.is_empty() {
            let _ = writeln!(out, "  {word}: {}", moved.join(", "));
        }
    }
    for goal in &case.goals {
        let mark = match goal.reached {
            true => "reached",
            false if case.failures.is_empty() => "MISSED",
            false => "void",
        };
        let measured = goal.measured.map_or("not measured".to_owned(), |measured| format!("measured {measured:.3}"));
        let _ = writeln!(out, "  goal {mark}: {} ({measured}, required {:.3})", harmless(&goal.what), goal.wanted);
    }
    if let Some(words) = &case.skipped {
        let _ = writeln!(out, "  not run: {}", harmless(words));
    }
    for words in &case.failures {
        let _ = writeln!(out, "  failed: {}", harmless(words));
    }
    for words in &case.notes {
        let _ = writeln!(out, "  note: {}", harmless(words));
    }
    out
}

/// Formats a whole run.
pub fn run(run: &Run) -> String {
    let mut out = String::new();
    for subject in &run.subjects {
        let naa = subject.naa.as_deref().map(|naa| format!(" · naa.{}", harmless(naa))).unwrap_or_default();
        let what = [&subject.vendor, &subject.product, &subject.revision].map(|text| harmless(text)).join(" ");
        let (url, size) = (harmless(&subject.url), bytes(subject.size_bytes as f64));
        let _ = writeln!(out, "{url} · {}{naa} · {size}", what.trim());
    }
    let _ = writeln!(out, "size {} · pairs {} · {}\n", harmless(&run.size), run.pairs, harmless(&run.windlass));
    for result in &run.cases {
        out.push_str(&case(result));
        out.push('\n');
    }
    let count = |verdict: Verdict| run.cases.iter().filter(|case| case.verdict() == verdict).count();
    let [passed, failed, skipped] = [Verdict::Passed, Verdict::Failed, Verdict::NotRun].map(count);
    let goals = run.cases.iter().flat_map(|case| &case.goals);
    let (reached, all) = (goals.clone().filter(|goal| goal.reached).count(), goals.count());
    let _ = writeln!(
        out,
        "{} cases: {passed} passed, {failed} failed, {skipped} not run or incomplete · {reached} of {all} goals reached",
        run.cases.len()
    );
    if let Some(words) = &run.ended_early {
        let _ = writeln!(out, "ended early: {}", harmless(words));
    }
    out
}

/// Formats columns, all but the first to the right. Control characters in cells are made harmless.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| harmless(cell)).collect()).collect();
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut aligns = vec![Align::Right; count];
    if let Some(first) = aligns.first_mut() {
        *first = Align::Left;
    }
    columns::lines(&aligns, &rows).into_iter().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_unit_that_fits() {
        for (value, unit, text) in [
            (0.000_25, Unit::Seconds, "250 µs"),
            (0.25, Unit::Seconds, "250.0 ms"),
            (12.345, Unit::Seconds, "12.35 s"),
            (7200.0, Unit::Seconds, "120:00"),
            (1536.0, Unit::Bytes, "1.5 KiB"),
            (-1048576.0, Unit::Bytes, "−1 MiB"),
            (6759.0, Unit::PerSecond, "6759/s"),
            (32.04, Unit::PerSecond, "32.0/s"),
            (0.003, Unit::Ratio, "0.30 %"),
        ] {
            assert_eq!(number(value, unit), text);
        }
        assert_eq!(factor(10.0, 0.5, Better::Lower), "20.00 ×");
        assert_eq!(factor(100.0, 500.0, Better::Higher), "5.00 ×");
        assert_eq!(factor(1.0, 0.0, Better::Lower), "–");
    }

    #[test]
    fn a_case_s_table_has_the_paper_s_figure_beside_ours() {
        let measure = |value| Measure::of(&[value], Unit::Seconds, Better::Lower);
        let side = |value| SideResult {
            measures: measure(value).into_iter().map(|measure| ("seconds".to_owned(), measure)).collect(),
            ..SideResult::default()
        };
        let paper = crate::paper::paper(
            "P1, XCOPY 1",
            crate::paper::P1,
            "words",
            vec![crate::paper::ratio("seconds", Unit::Seconds, 0.86)],
        );
        let result = CaseResult {
            case: "clone-template".into(),
            check_passed: true,
            off: side(10.0),
            on: side(0.1),
            paper,
            notes: vec!["n".into()],
            ..CaseResult::default()
        };
        let text = case(&result);
        let row: Vec<&str> =
            text.lines().find(|line| line.contains("  seconds")).into_iter().flat_map(str::split_whitespace).collect();
        assert_eq!(row.join(" "), "seconds 10.00 s 100.0 ms 100 × -14 %");
        assert!(text.starts_with("clone-template  passed") && text.ends_with("  note: n\n"), "{text}");
    }
}
