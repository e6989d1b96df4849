//! Report in Markdown, for the documents: tables and no drawings.

use crate::figure::{self, Figure, Kind, figures, headline, sides};
use crate::run::{machine_line, scale, subject_line, time_line};
use crate::words::{self, harmless};
use lab::results::{CaseResult, Run, Verdict};
use std::fmt::Write;

/// Escapes untrusted text, so that it cannot end a cell, begin an element or be read as Markdown.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in harmless(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '!' | '#' | '~' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Formats a table; cells are escaped already. Columns for which `right` returns true are numbers.
pub(crate) fn table(head: &[&str], right: impl Fn(usize) -> bool, rows: &[Vec<String>]) -> String {
    let rule = (0..head.len()).map(|column| if right(column) { "---:" } else { "---" });
    let mut text = format!("| {} |\n| {} |\n", head.join(" | "), rule.collect::<Vec<_>>().join(" | "));
    for row in rows {
        let _infallible = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

/// Renders a run in Markdown.
pub fn run(run: &Run) -> String {
    let mut text = format!("# Storage offload, off and on\n\n{}\n", figure::verdict(&run.cases));
    if let Some(reason) = &run.ended_early {
        let _infallible = writeln!(text, "\n**The run ended before its last case:** {}", escaped(reason));
    }
    text.push('\n');
    for subject in &run.subjects {
        let _infallible = writeln!(text, "- subject: {}", escaped(&subject_line(subject)));
    }
    let _infallible = writeln!(
        text,
        "- hosts: {}\n- time: {}\n- scale: {}, {} of off and on\n- program: windlass {}",
        escaped(&machine_line(run)),
        time_line(run),
        escaped(&scale(run)),
        figure::count(usize::try_from(run.pairs).unwrap_or(usize::MAX), "round"),
        escaped(&run.windlass)
    );
    if run.cases.is_empty() {
        return text + "\nNo case ran.\n";
    }
    text += "\n## Summary\n\n";
    text += &table(
        &["case", "measure", "off", "on", "here", "paper", "check"],
        |column| (2..6).contains(&column),
        &run.cases.iter().map(summary_row).collect::<Vec<_>>(),
    );
    text += &goals(run);
    for case in &run.cases {
        text += &section(case);
    }
    text
}

fn summary_row(case: &CaseResult) -> Vec<String> {
    let headline = headline(case);
    let of = |kind| {
        headline
            .as_ref()
            .and_then(|figure| Some(words::value(figure.of(kind)?.median, figure.unit)))
            .unwrap_or_default()
    };
    let outcome = case.verdict();
    vec![
        format!("`{}`", escaped(&case.case).replace('\\', "")),
        headline.as_ref().map(|figure| escaped(&figure.title)).unwrap_or_default(),
        of(Kind::Off),
        of(Kind::On),
        headline.as_ref().and_then(Figure::change).unwrap_or_default(),
        headline.as_ref().and_then(Figure::paper_change).unwrap_or_default(),
        if outcome == Verdict::Failed { "**failed**".into() } else { figure::word(outcome).into() },
    ]
}

fn goals(run: &Run) -> String {
    let row = |case: &CaseResult| -> Vec<Vec<String>> {
        let goal = |goal: &lab::results::Goal| {
            let result = if goal.reached { "reached" } else { "**missed**" };
            vec![
                escaped(&case.case),
                escaped(&words::goal(&goal.what)),
                words::measured(goal.measured),
                words::digits(goal.wanted),
                result.into(),
            ]
        };
        case.goals.iter().map(goal).collect()
    };
    let rows: Vec<_> = run.cases.iter().flat_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "\n## Goals\n\n{}",
        table(&["case", "goal", "measured", "wanted", "result"], |column| (2..4).contains(&column), &rows)
    )
}

fn section(case: &CaseResult) -> String {
    let mut text = format!("\n## {}\n\n{}\n", escaped(&case.case), escaped(&case.title));
    if let Some(reason) = &case.skipped {
        let _infallible = writeln!(text, "\nDid not complete: {}", escaped(reason));
    }
    let source = [&case.paper.test, &case.paper.system].map(|text| escaped(text));
    let source = source.iter().filter(|text| !text.is_empty()).map(String::as_str).collect::<Vec<_>>().join("; ");
    if !source.is_empty() || !case.paper.words.is_empty() {
        let _infallible = writeln!(text, "\nThe paper ({source}): {}", escaped(&case.paper.words));
    }
    let sides = sides(case);
    let figures = figures(case);
    if !figures.is_empty() {
        let mut head = vec!["measure".to_owned()];
        head.extend(sides.iter().map(|side| escaped(&side.name)));
        head.extend(["change", "paper off", "paper on", "paper's change"].map(str::to_owned));
        let rows: Vec<_> = figures.iter().map(|figure| row(figure, &sides)).collect();
        text.push('\n');
        text += &table(&head.iter().map(String::as_str).collect::<Vec<_>>(), |column| column > 0, &rows);
    }
    let mut lines = Vec::new();
    for side in &sides {
        let moved = side.side.moved_bytes.iter().map(|(who, bytes)| match who.as_str() {
            "offloaded" => format!("{} by the array", words::bytes(*bytes)),
            reason => format!("{} by the host ({})", words::bytes(*bytes), escaped(reason)),
        });
        let moved = moved.collect::<Vec<_>>().join(", ");
        if !moved.is_empty() {
            lines.push(format!("bytes moved, {}: {moved}", escaped(&side.name)));
        }
    }
    lines.extend(case.failures.iter().map(|failure| format!("**failed:** {}", escaped(failure))));
    lines.extend(case.notes.iter().map(|note| escaped(note)));
    if !lines.is_empty() {
        let _infallible = writeln!(text, "\n- {}", lines.join("\n- "));
    }
    text
}

fn row(figure: &Figure<'_>, sides: &[figure::NamedSide<'_>]) -> Vec<String> {
    let cell = |side: &figure::NamedSide<'_>| match figure.rows.iter().find(|row| row.name == side.name) {
        Some(row) if row.measure.low < row.measure.high => {
            let [low, median, high] =
                [row.measure.low, row.measure.median, row.measure.high].map(|value| words::value(value, figure.unit));
            format!("{median} ({low}–{high})")
        }
        Some(row) => words::value(row.measure.median, figure.unit),
        None => String::new(),
    };
    let paper = |value: Option<f64>| value.map(|value| words::value(value, figure.unit)).unwrap_or_default();
    let mut cells = vec![escaped(&figure.title)];
    cells.extend(sides.iter().map(cell));
    cells.push(figure.change().unwrap_or_default());
    cells.push(paper(figure.paper.and_then(|paper| paper.off)));
    cells.push(paper(figure.paper.and_then(|paper| paper.on)));
    cells.push(figure.paper_change().unwrap_or_default());
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_in_its_cell() {
        assert_eq!(escaped("a|b<script>\n[x](y)`"), "a\\|b&lt;script&gt;\u{fffd}\\[x\\](y)\\`");
    }
}
