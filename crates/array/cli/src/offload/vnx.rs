//! `offload stats --layout vnx`: the table `nfs.v3.vstorage` of the VNX white paper, by operation of shares.
//!
//! VNX names the operations of its VAAI plug-in. An operation of NFSv4.2 stands in the row with the same purpose.

use super::path;
use crate::client::Client;
use crate::error::CliError;
use crate::output::{Format, Output};
use api::{Latency, LatencyBucket, OffloadStatistics};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use text::columns::{self, Align};

/// Rows in the order of the paper, with the primitive that each counts.
const ROWS: [(&str, &str); 6] = [
    ("vaaiFullClone", "copy"),
    ("vaaiFastClone", "clone"),
    ("vaaiOffloadStatus", "offload-status"),
    ("vaaiOffloadAbort", "offload-abort"),
    ("vaaiVxAttrs", "extstat"),
    ("vaaiReserveSpace", "reserve"),
];

/// One row of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Row {
    #[serde(rename = "vstorage_op")]
    operation: &'static str,
    calls: u64,
    total_us: u64,
    max_us: u64,
    average_us: u64,
}

/// Rows of one interval.
#[derive(Serialize)]
struct Sample {
    time: String,
    rows: Vec<Row>,
}

/// Latencies since the start, by primitive.
type Counters = BTreeMap<String, Latency>;

/// Prints the table: once since the start, or `count` times of an interval each.
pub(super) async fn run(
    volume: Option<&str>,
    interval: Option<Duration>,
    count: u32,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let counters = async || -> Result<Counters, CliError> {
        Ok(sums(&client.long_list::<OffloadStatistics>(&path(volume, None)).await?))
    };
    let mut samples = Vec::new();
    let mut before = if interval.is_some() { counters().await? } else { Counters::new() };
    for _ in 0..count {
        if let Some(interval) = interval {
            tokio::time::sleep(interval).await;
        }
        let now = counters().await?;
        let sample = Sample { time: Timestamp::now().strftime("%H:%M:%S").to_string(), rows: rows(&before, &now) };
        before = now;
        if !output.is_document() {
            output.text(&table(samples.is_empty(), &sample.time, &sample.rows))?;
        }
        samples.push(sample);
    }
    match output.format() {
        Format::Json | Format::Yaml => output.document(&samples),
        _ if interval.is_some() => output.text(&summaries(&samples)),
        _ => Ok(()),
    }
}

/// Sums over all volumes and shares.
fn sums(statistics: &[OffloadStatistics]) -> Counters {
    let mut sums = Counters::new();
    for row in statistics {
        let sum: &mut Latency = sums.entry(row.primitive.clone()).or_default();
        sum.count += row.latency.count;
        sum.total_us += row.latency.total_us;
        sum.max_us = sum.max_us.max(row.latency.max_us);
        for bucket in &row.latency.histogram {
            match sum.histogram.iter_mut().find(|known| known.upper_us == bucket.upper_us) {
                Some(known) => known.count += bucket.count,
                None => sum.histogram.push(*bucket),
            }
        }
    }
    sums
}

/// Rows of the operations between two readings of the counters.
fn rows(before: &Counters, now: &Counters) -> Vec<Row> {
    let none = Latency::default();
    let row = |(operation, primitive): (&'static str, &str)| {
        let (before, now) = (before.get(primitive).unwrap_or(&none), now.get(primitive).unwrap_or(&none));
        let calls = now.count.saturating_sub(before.count);
        let total_us = now.total_us.saturating_sub(before.total_us);
        let average_us = total_us.checked_div(calls).unwrap_or(0);
        Row { operation, calls, total_us, max_us: longest(before, now), average_us }
    };
    ROWS.into_iter().map(row).collect()
}

/// Longest latency that was added. The array keeps the longest since its start; where that has not changed, the bound
/// of the highest bucket that has grown is an upper limit.
fn longest(before: &Latency, now: &Latency) -> u64 {
    if now.max_us > before.max_us {
        return now.max_us;
    }
    let earlier = |bucket: &LatencyBucket| {
        before.histogram.iter().find(|known| known.upper_us == bucket.upper_us).map_or(0, |known| known.count)
    };
    let grown = now.histogram.iter().filter(|bucket| bucket.count > earlier(bucket));
    grown.map(|bucket| bucket.upper_us.unwrap_or(u64::MAX)).max().unwrap_or(0).min(now.max_us)
}

/// Lines of one interval.
fn table(heading: bool, label: &str, rows: &[Row]) -> String {
    let number = |number: u64| number.to_string();
    let mut cells = Vec::new();
    if heading {
        cells.push(["time", "vStorage op", "calls", "total µs", "max µs", "avg µs"].map(str::to_owned).to_vec());
    }
    for (index, row) in rows.iter().enumerate() {
        let label = if index == 0 { label.to_owned() } else { String::new() };
        let numbers = [row.calls, row.total_us, row.max_us, row.average_us].map(number);
        cells.push([vec![label, row.operation.to_owned()], numbers.to_vec()].concat());
    }
    let alignment = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right];
    // Blocks that are printed one after the other have columns of one width.
    let widths = ["Minimum ", "vaaiOffloadStatus", "99999999", "99999999999", "9999999999", "9999999999"];
    cells.push(widths.map(str::to_owned).to_vec());
    let mut lines = columns::lines(&alignment, &cells);
    lines.pop();
    lines.join("\n") + "\n"
}

/// Minimum, average and maximum of each number over all intervals.
fn summaries(samples: &[Sample]) -> String {
    let over = |label: &str, combine: fn(&[u64]) -> u64| {
        let row = |index: usize| {
            let all: Vec<Row> = samples.iter().filter_map(|sample| sample.rows.get(index).copied()).collect();
            let number = |of: fn(&Row) -> u64| combine(&all.iter().map(of).collect::<Vec<_>>());
            Row {
                operation: all.first().map_or("", |row| row.operation),
                calls: number(|row| row.calls),
                total_us: number(|row| row.total_us),
                max_us: number(|row| row.max_us),
                average_us: number(|row| row.average_us),
            }
        };
        table(false, label, &(0..ROWS.len()).map(row).collect::<Vec<_>>())
    };
    let mean = |all: &[u64]| all.iter().sum::<u64>().checked_div(all.len() as u64).unwrap_or(0);
    over("Minimum", |all| all.iter().copied().min().unwrap_or(0))
        + &over("Average", mean)
        + &over("Maximum", |all| all.iter().copied().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(count: u64, total_us: u64, max_us: u64, buckets: &[(u64, u64)]) -> Latency {
        let bucket = |(upper_us, count): &(u64, u64)| LatencyBucket { upper_us: Some(*upper_us), count: *count };
        Latency { count, total_us, max_us, histogram: buckets.iter().map(bucket).collect(), ..Latency::default() }
    }

    #[test]
    fn an_interval_counts_what_was_added_in_it() {
        let before = Counters::from([("clone".to_owned(), latency(2, 3000, 2900, &[(128, 1), (4096, 1)]))]);
        let now = Counters::from([("clone".to_owned(), latency(5, 3300, 2900, &[(128, 4), (4096, 1)]))]);
        let clones = |rows: Vec<Row>| rows.into_iter().find(|row| row.operation == "vaaiFastClone");
        let row = Row { operation: "vaaiFastClone", calls: 3, total_us: 300, max_us: 128, average_us: 100 };
        assert_eq!(clones(rows(&before, &now)), Some(row));
        let since_start = Row { calls: 5, total_us: 3300, max_us: 2900, average_us: 660, ..row };
        assert_eq!(clones(rows(&Counters::new(), &now)), Some(since_start));
        let idle = Row { calls: 0, total_us: 0, max_us: 0, average_us: 0, ..row };
        assert_eq!(clones(rows(&now, &now)), Some(idle));
    }

    #[test]
    fn the_table_has_the_columns_of_the_paper_and_ends_with_its_summary() {
        let sample = |calls| {
            let counters = Counters::from([("reserve".to_owned(), latency(calls, calls * 100, 100, &[]))]);
            Sample { time: "14:02:05".to_owned(), rows: rows(&Counters::new(), &counters) }
        };
        let first = table(true, "14:02:05", &sample(2).rows);
        let lines: Vec<_> = first.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
        let heading = ["time", "vStorage", "op", "calls", "total", "µs", "max", "µs", "avg", "µs"];
        assert_eq!(lines[0], heading);
        assert_eq!(lines[1], ["14:02:05", "vaaiFullClone", "0", "0", "0", "0"]);
        assert_eq!(lines[6], ["vaaiReserveSpace", "2", "200", "100", "100"]);
        let all = summaries(&[sample(2), sample(6)]);
        let reserve: Vec<_> = all.lines().filter(|line| line.contains("vaaiReserveSpace")).collect();
        let calls: Vec<_> = reserve.iter().filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(calls, ["2", "4", "6"]);
    }
}
