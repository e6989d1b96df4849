//! `windlass offload`: statistics of each primitive, and the log of refused commands.

mod log;
mod vnx;

use crate::client::{Client, query};
use crate::error::CliError;
use crate::output::{Column, Format, Output, Resource, Value, column, minor, wide};
use api::{ContentKind, OffloadStatistics, OffloadSum, OffloadTotals};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Verbs of `windlass offload`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// Show statistics of each primitive for each volume and share since the array started
    #[command(
        alias = "stat",
        after_help = "Examples:\n  windlass offload stats\n  windlass offload stats win-dc1 -o json\n  windlass offload stats vms --by client\n  windlass offload stats --layout vnx --interval 5 --count 3\n\nPrimitives of volumes: ats (COMPARE AND WRITE), xcopy (EXTENDED COPY), zero (WRITE SAME), unmap (UNMAP)\nPrimitives of shares: clone (CLONE), copy (COPY), reserve (ALLOCATE), free (DEALLOCATE), seek (SEEK), read-plus (READ_PLUS), write-same (WRITE_SAME), extstat (space_freed and the attributes windlass.*), offload-status, offload-abort\n\nLayout vnx: operations of shares as EMC VNX prints them. vaaiFullClone counts COPY, vaaiFastClone CLONE, vaaiVxAttrs extstat, vaaiReserveSpace ALLOCATE. In an interval, max µs is an upper bound, exact if it is the longest since the start."
    )]
    Stats {
        /// Only this volume or share
        volume: Option<String>,
        /// A row for each client of each share
        #[arg(long, value_enum, value_name = "client")]
        by: Option<By>,
        /// Layout of the table: vnx
        #[arg(long, value_enum, value_name = "vnx", conflicts_with = "by")]
        layout: Option<Layout>,
        /// Seconds between two tables; without it, one table since the start
        #[arg(long, value_name = "SECONDS", requires = "layout", value_parser = clap::value_parser!(u32).range(1..))]
        interval: Option<u32>,
        /// Number of tables [default: 1]
        #[arg(long, value_name = "N", requires = "interval", value_parser = clap::value_parser!(u32).range(1..))]
        count: Option<u32>,
    },
    /// Show commands that were refused, failed, or succeeded without the benefit of the offload,
    /// with the reasons; oldest first
    #[command(
        after_help = "Examples:\n  windlass offload log\n  windlass offload log --outcome refused --primitive unmap --since 2h\n  windlass offload log --host esx01 --volume win-dc1 --limit 20\n  windlass offload log --follow\n\nCommands of one host that differ in their values alone, and come within a minute, are one entry: COUNT is their number, TIME and DETAIL those of the last one.\nOutcomes: refused (the host asked for what it cannot have), failed (inside the array), ineffective (done, but data had to be moved, or nothing could be freed)"
    )]
    Log(log::Log),
}

/// Division of the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// A row for each client of each share
    Client,
}

/// Layout of the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Layout {
    /// The table of EMC VNX
    Vnx,
}

/// Name of a volume or share, with a mark if it was deleted.
fn volume(name: &str, deleted: bool) -> Value {
    if deleted { format!("{name} (deleted)").into() } else { name.into() }
}

impl Resource for OffloadStatistics {
    const WHEN_EMPTY: &'static str = "no host has used an offload since the array started";
    const COLUMNS: &'static [Column<Self>] = &[
        column("volume", |row| volume(&row.volume, row.deleted)),
        wide("kind", |row| kind(row.kind).into()),
        column("primitive", |row| row.primitive.to_uppercase().into()),
        column("commands", |row| Value::Number(row.commands)),
        minor("ok", |row| Value::Number(row.ok)),
        column("refused", |row| Value::Number(row.refused)),
        wide("miscompares", |row| Value::Number(row.miscompares)),
        wide("errors", |row| Value::Number(row.errors)),
        minor("bytes", |row| Value::Bytes(row.bytes)),
        column("host-bytes-avoided", avoided),
        wide("ineffective", |row| Value::Number(row.ineffective.iter().map(|reason| reason.count).sum())),
        wide("cloned", |row| Value::Bytes(row.cloned_bytes)),
        wide("copied", |row| Value::Bytes(row.copied_bytes)),
        minor("avg", |row| Value::Microseconds(row.latency.average_us)),
        wide("p50", |row| Value::Microseconds(row.latency.p50_us)),
        column("p99", |row| Value::Microseconds(row.latency.p99_us)),
        wide("max", |row| Value::Microseconds(row.latency.max_us)),
        column("top-refusal", |row| top_refusal(row).into()),
    ];

    fn name(&self) -> String {
        format!("{}:{}", self.volume, self.primitive)
    }
}

/// Bytes that hosts did not have to transfer, of a primitive that transfers data otherwise.
fn avoided(row: &OffloadStatistics) -> Value {
    match row.primitive.as_str() {
        "xcopy" | "zero" | "clone" | "copy" | "write-same" | "read-plus" => Value::Bytes(row.host_bytes_avoided),
        _ => Value::None,
    }
}

const fn kind(kind: ContentKind) -> &'static str {
    match kind {
        ContentKind::Volume => "volume",
        ContentKind::Share => "share",
    }
}

/// Statistics of one client of a share.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct OfClient(OffloadStatistics);

impl Resource for OfClient {
    const WHEN_EMPTY: &'static str = "no client of a share has used an offload since the array started";
    const COLUMNS: &'static [Column<Self>] = &[
        column("share", |row| row.0.volume.as_str().into()),
        column("client", |row| row.0.client.as_deref().into()),
        minor("host", |row| row.0.host.as_deref().into()),
        column("primitive", |row| row.0.primitive.to_uppercase().into()),
        column("calls", |row| Value::Number(row.0.commands)),
        minor("ok", |row| Value::Number(row.0.ok)),
        column("refused", |row| Value::Number(row.0.refused)),
        wide("errors", |row| Value::Number(row.0.errors)),
        minor("bytes", |row| Value::Bytes(row.0.bytes)),
        column("host-bytes-avoided", |row| avoided(&row.0)),
        minor("avg", |row| Value::Microseconds(row.0.latency.average_us)),
        column("p99", |row| Value::Microseconds(row.0.latency.p99_us)),
        wide("max", |row| Value::Microseconds(row.0.latency.max_us)),
        column("top-refusal", |row| top_refusal(&row.0).into()),
    ];

    fn name(&self) -> String {
        format!("{}:{}:{}", self.0.volume, self.0.client.as_deref().unwrap_or_default(), self.0.primitive)
    }
}

/// Most frequent reason of a refusal, with its count. Miscompares, failures and commands without a
/// benefit are no refusals; they have columns of their own.
fn top_refusal(row: &OffloadStatistics) -> Option<String> {
    row.refusals.first().map(|reason| format!("{} ({})", reason.reason_code, reason.count))
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::Stats { volume, layout: Some(Layout::Vnx), interval, count, .. } => {
            let interval = interval.map(|seconds| Duration::from_secs(seconds.into()));
            vnx::run(volume.as_deref(), interval, count.unwrap_or(1), client, output).await
        }
        Verb::Stats { volume, by: Some(By::Client), .. } => {
            output.list(&client.long_list::<OfClient>(&path(volume.as_deref(), Some("client"))).await?)
        }
        Verb::Stats { volume, .. } => {
            output.list(&client.long_list::<OffloadStatistics>(&path(volume.as_deref(), None)).await?)?;
            if volume.is_none() && matches!(output.format(), Format::Table | Format::Wide) {
                match client.get::<OffloadTotals>(&totals_path(Timestamp::now())).await {
                    Ok(totals) => output.report(&totals_line(&totals)),
                    Err(error) => output.warn(&format!("no totals over restarts: {error}")),
                }
            }
            Ok(())
        }
        Verb::Log(log) => log::run(log, client, output).await,
    }
}

/// Path of the totals: today is the day of this machine's time zone.
fn totals_path(now: Timestamp) -> String {
    let day = now.to_zoned(TimeZone::system()).start_of_day().map(|start| start.timestamp().to_string());
    format!("/api/v1/offload/totals{}", query(&[("day", day.as_deref().ok())]))
}

/// Line about what hosts did not have to transfer, over restarts.
fn totals_line(totals: &OffloadTotals) -> String {
    let kept = |sums: &[OffloadSum]| {
        api::size::format(sums.iter().fold(0, |sum, row| row.host_bytes_avoided.saturating_add(sum)))
    };
    let (today, month, all) = (kept(&totals.today), kept(&totals.days_30), kept(&totals.all));
    let since = totals.since.to_zoned(TimeZone::system()).date();
    format!("kept off the wire: today {today} · 30 days {month} · since {since} {all}")
}

/// Path of the statistics.
fn path(volume: Option<&str>, by: Option<&str>) -> String {
    format!("/api/v1/offload/stats{}", query(&[("volume", volume), ("by", by)]))
}

#[cfg(test)]
mod tests {
    use super::top_refusal;
    use api::{ContentKind, Latency, OffloadRefusalCount, OffloadStatistics};

    fn reasons(code: &str, count: u64) -> Vec<OffloadRefusalCount> {
        vec![OffloadRefusalCount { reason_code: code.to_owned(), reason: String::new(), count }]
    }

    /// Regression: a refused COMPARE AND WRITE was shown as `miscompare, normal contention (1)`, and
    /// a refused UNMAP as `below-grain (1)`, which is no refusal.
    #[test]
    fn the_top_refusal_is_a_refusal() {
        let row = OffloadStatistics {
            volume: "v1".to_owned(),
            deleted: false,
            kind: ContentKind::Volume,
            client: None,
            host: None,
            primitive: "ats".to_owned(),
            commands: 10,
            ok: 5,
            refused: 1,
            miscompares: 3,
            errors: 1,
            bytes: 0,
            host_bytes_avoided: 0,
            cloned_bytes: 0,
            copied_bytes: 0,
            deallocated_bytes: 0,
            unaligned_bytes: 0,
            latency: Latency::default(),
            refusals: reasons("over-limit", 1),
            failures: reasons("medium-error", 1),
            ineffective: reasons("below-grain", 5),
        };
        assert_eq!(top_refusal(&row).as_deref(), Some("over-limit (1)"));
        assert_eq!(top_refusal(&OffloadStatistics { refusals: Vec::new(), ..row }), None);
    }
}
