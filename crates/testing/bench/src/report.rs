//! Results: a line for each as it is measured, a table at the end, goals reached or missed, and all
//! of it as JSON.

use crate::load::Load;
use serde_json::{Value, json};
use text::columns::Align;

/// Servers that others are compared with in the table.
const PEERS: [&str; 2] = ["tgt", "ganesha"];

/// Repetitions of one measurement of one server.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Name of the measurement.
    pub(crate) name: String,
    /// `windlass` or a server beside it.
    pub(crate) server: &'static str,
    /// Repetitions.
    pub(crate) loads: Vec<Load>,
}

impl Row {
    /// Median of a number over the repetitions, with minimum and maximum.
    pub(crate) fn median(&self, number: impl Fn(&Load) -> f64) -> Spread {
        Spread::of(self.loads.iter().map(number).collect())
    }
}

/// Median with its spread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) greatest: f64,
}

impl Spread {
    /// Spread of some numbers; zeros when there are none.
    pub(crate) fn of(mut numbers: Vec<f64>) -> Self {
        numbers.sort_by(f64::total_cmp);
        let middle = numbers.len() / 2;
        let median = match (numbers.get(middle.wrapping_sub(1)), numbers.get(middle)) {
            (Some(below), Some(above)) if numbers.len().is_multiple_of(2) => (below + above) / 2.0,
            (_, Some(middle)) => *middle,
            _ => 0.0,
        };
        let (least, greatest) = (numbers.first().copied().unwrap_or(0.0), numbers.last().copied().unwrap_or(0.0));
        Self { least, median, greatest }
    }
}

/// Goal for a number.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    /// Statement, with the measured number.
    pub(crate) statement: String,
    /// Whether it was reached.
    pub(crate) reached: bool,
}

/// All results.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    pub(crate) facts: Vec<String>,
    pub(crate) goals: Vec<Goal>,
}

impl Report {
    /// Records a plain result.
    pub(crate) fn fact(&mut self, statement: String) {
        println!("  {statement}");
        self.facts.push(statement);
    }

    /// Records a goal: `value` must not exceed `limit`.
    pub(crate) fn at_most(&mut self, what: &str, value: f64, limit: f64, unit: &str) {
        let statement = format!("{what}: {} {unit}, at most {} wanted", short(value), short(limit));
        self.goal(statement, value <= limit);
    }

    /// Records a goal: `value` must be at least `limit`.
    pub(crate) fn at_least(&mut self, what: &str, value: f64, limit: f64, unit: &str) {
        let statement = format!("{what}: {} {unit}, at least {} wanted", short(value), short(limit));
        self.goal(statement, value >= limit);
    }

    fn goal(&mut self, statement: String, reached: bool) {
        println!("  {}  {statement}", if reached { "reached" } else { "missed " });
        self.goals.push(Goal { statement, reached });
    }

    /// Adds one repetition and prints it.
    pub(crate) fn load(&mut self, name: &str, server: &'static str, load: Load) {
        println!(
            "  {name:30} {server:9} {:>9} ops/s  p50 {:>8} µs  p99 {:>8} µs  p99.9 {:>8} µs  longest {:>8} µs  server {:>6} µs/op  wire {:>7} B/op",
            short(load.rate()),
            short(load.latency_us(50.0)),
            short(load.latency_us(99.0)),
            short(load.latency_us(99.9)),
            short(load.latencies.longest_us()),
            short(load.server_us()),
            short(load.wire_bytes_each())
        );
        match self.rows.iter_mut().find(|row| row.name == name && row.server == server) {
            Some(row) => row.loads.push(load),
            None => self.rows.push(Row { name: name.into(), server, loads: vec![load] }),
        }
    }

    /// Repetitions of one measurement.
    pub(crate) fn row(&self, name: &str, server: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name && row.server == server)
    }

    /// Markdown table: medians (minimum to maximum), and ratios to tgt or NFS-Ganesha where they have the row.
    pub(crate) fn markdown(&self) -> Vec<String> {
        let header = [
            "row",
            "server",
            "ops/s (least–greatest)",
            "ratio to peer",
            "p50 µs",
            "p99 µs",
            "p99.9 µs",
            "longest µs",
            "server CPU µs/op",
            "wire B/op",
        ];
        let words = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let mut rows = vec![words(&header)];
        for row in &self.rows {
            let rate = row.median(Load::rate);
            let peer = PEERS.iter().find_map(|peer| self.row(&row.name, peer));
            let ratio = match peer {
                Some(peer) if peer.server != row.server => {
                    format!("{:.2}", rate.median / peer.median(Load::rate).median.max(1e-9))
                }
                _ => String::new(),
            };
            rows.push(vec![
                row.name.clone(),
                row.server.into(),
                format!("{} ({}–{})", short(rate.median), short(rate.least), short(rate.greatest)),
                ratio,
                short(row.median(|load| load.latency_us(50.0)).median),
                short(row.median(|load| load.latency_us(99.0)).median),
                short(row.median(|load| load.latency_us(99.9)).median),
                short(row.median(|load| load.latencies.longest_us()).greatest),
                short(row.median(Load::server_us).median),
                short(row.median(Load::wire_bytes_each).median),
            ]);
        }
        let mut alignment = vec![Align::Left, Align::Left];
        alignment.resize(header.len(), Align::Right);
        // Columns of equal width, with the bars that Markdown requires between them.
        let barred: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| format!("| {cell}")).collect()).collect();
        let mut lines: Vec<_> = text::columns::lines(&vec![Align::Left; header.len()], &barred)
            .into_iter()
            .map(|line| format!("{line} |"))
            .collect();
        let rule = alignment.iter().map(|align| if *align == Align::Left { "---" } else { "---:" }).collect::<Vec<_>>();
        if lines.len() > 1 {
            lines.insert(1, format!("| {} |", rule.join(" | ")));
        } else {
            lines.clear();
        }
        lines.extend(self.facts.iter().map(|fact| format!("- {fact}")));
        lines.extend(
            self.goals
                .iter()
                .map(|goal| format!("- {}: {}", if goal.reached { "reached" } else { "**missed**" }, goal.statement)),
        );
        lines
    }

    /// All results as one document, with every repetition.
    pub(crate) fn json(&self) -> Value {
        let loads = |row: &Row| -> Vec<Value> {
            row.loads
                .iter()
                .map(|load| {
                    json!({
                        "operations": load.operations,
                        "elapsed_us": load.elapsed.as_secs_f64() * 1e6,
                        "operations_per_second": load.rate(),
                        "p50_us": load.latency_us(50.0),
                        "p99_us": load.latency_us(99.0),
                        "p999_us": load.latency_us(99.9),
                        "longest_us": load.latencies.longest_us(),
                        "server_cpu_us_per_operation": load.server_us(),
                        "sent_bytes": load.sent_bytes,
                        "received_bytes": load.received_bytes,
                    })
                })
                .collect()
        };
        json!({
            "rows": self.rows.iter().map(|row| json!({ "name": row.name, "server": row.server, "runs": loads(row) })).collect::<Vec<_>>(),
            "facts": self.facts,
            "goals": self.goals.iter().map(|goal| json!({ "statement": goal.statement, "reached": goal.reached })).collect::<Vec<_>>(),
        })
    }
}

/// Formats a number with about three digits.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 || v == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn medians_have_their_spread() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]), Spread { least: 1.0, median: 2.0, greatest: 3.0 });
        assert_eq!(Spread::of(vec![4.0, 1.0]), Spread { least: 1.0, median: 2.5, greatest: 4.0 });
        assert_eq!(Spread::of(vec![]), Spread::default());
    }

    #[test]
    fn the_table_compares_with_tgt() {
        let load = |operations| Load { operations, elapsed: Duration::from_secs(1), ..Load::default() };
        let mut report = Report::default();
        report.load("read", "windlass", load(300));
        report.load("read", "tgt", load(100));
        report.at_least("read", 3.0, 1.5, "× tgt");
        let lines = report.markdown();
        assert!(lines.iter().any(|line| line.contains("windlass") && line.contains("3.00")), "{lines:#?}");
        assert_eq!(lines.last().map(String::as_str), Some("- reached: read: 3.00 × tgt, at least 1.50 wanted"));
        assert_eq!(lines.get(1).map(|line| line.matches('|').count()), Some(11));
    }
}
