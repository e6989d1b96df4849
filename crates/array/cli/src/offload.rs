//! `windlass offload`: statistics of each primitive, and the log of refused commands.

use crate::client::{Client, query};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, wide};
use api::{List, OffloadRefusal, OffloadStatistics};

/// Verbs of `windlass offload`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// Show statistics of each primitive for each volume since the array started
    #[command(
        alias = "stat",
        after_help = "Examples:\n  windlass offload stats\n  windlass offload stats win-dc1 -o json\n\nPrimitives: ats (COMPARE AND WRITE), xcopy (EXTENDED COPY), zero (WRITE SAME), unmap (UNMAP)"
    )]
    Stats {
        /// Only this volume
        volume: Option<String>,
    },
    /// Show commands that were refused and why, oldest first
    #[command(after_help = "Examples:\n  windlass offload log\n  windlass offload log win-dc1 --limit 20")]
    Log {
        /// Only this volume
        volume: Option<String>,
        /// Show at most this many, the newest
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u32,
    },
}

impl Resource for OffloadStatistics {
    const WHEN_EMPTY: &'static str = "no host has used an offload since the array started";
    const COLUMNS: &'static [Column<Self>] = &[
        column("volume", |row| row.volume.as_str().into()),
        column("primitive", |row| row.primitive.to_uppercase().into()),
        column("commands", |row| Value::Number(row.commands)),
        column("ok", |row| Value::Number(row.ok)),
        column("refused", |row| Value::Number(row.refused)),
        wide("miscompares", |row| Value::Number(row.miscompares)),
        wide("errors", |row| Value::Number(row.errors)),
        column("bytes", |row| Value::Bytes(row.bytes)),
        column("host-bytes-avoided", |row| match row.primitive.as_str() {
            // The other primitives transfer no data in the first place.
            "xcopy" | "zero" => Value::Bytes(row.host_bytes_avoided),
            _ => Value::None,
        }),
        wide("ineffective", |row| Value::Number(row.ineffective.iter().map(|reason| reason.count).sum())),
        wide("cloned", |row| Value::Bytes(row.cloned_bytes)),
        wide("copied", |row| Value::Bytes(row.copied_bytes)),
        column("avg", |row| Value::Microseconds(row.latency.average_us)),
        wide("p50", |row| Value::Microseconds(row.latency.p50_us)),
        column("p99", |row| Value::Microseconds(row.latency.p99_us)),
        column("top-refusal", |row| top_refusal(row).into()),
    ];

    fn name(&self) -> String {
        format!("{}:{}", self.volume, self.primitive)
    }
}

/// Most frequent reason, with its count.
fn top_refusal(row: &OffloadStatistics) -> Option<String> {
    let contention = (row.miscompares > 0).then_some(("miscompare, normal contention", row.miscompares));
    let reasons = row.refusals.first().into_iter().chain(row.ineffective.first());
    let reasons = reasons.map(|reason| (reason.reason_code.as_str(), reason.count));
    let (reason, count) = reasons.chain(contention).max_by_key(|(_, count)| *count)?;
    Some(format!("{reason} ({count})"))
}

/// Name of the host, or the end of the name of an initiator that belongs to no host.
fn who(refusal: &OffloadRefusal) -> String {
    const SHOWN: usize = 24;
    let initiator = &refusal.initiator;
    match &refusal.host {
        Some(host) => host.clone(),
        None if initiator.chars().count() <= SHOWN => initiator.clone(),
        None => {
            let skipped = initiator.chars().count() - (SHOWN - 1);
            "…".chars().chain(initiator.chars().skip(skipped)).collect()
        }
    }
}

impl Resource for OffloadRefusal {
    const WHEN_EMPTY: &'static str = "nothing was refused";
    const COLUMNS: &'static [Column<Self>] = &[
        wide("sequence", |refusal| Value::Number(refusal.sequence)),
        column("time", |refusal| format!("{:.0}", refusal.time).into()),
        column("volume", |refusal| refusal.volume.as_str().into()),
        column("primitive", |refusal| refusal.primitive.to_uppercase().into()),
        column("host", |refusal| who(refusal).into()),
        wide("initiator", |refusal| refusal.initiator.as_str().into()),
        column("reason", |refusal| refusal.reason_code.as_str().into()),
        wide("in-words", |refusal| refusal.reason.as_str().into()),
        column("detail", |refusal| refusal.detail.as_str().into()),
    ];

    fn name(&self) -> String {
        self.sequence.to_string()
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::Stats { volume } => {
            let query = query(&[("volume", volume.as_deref())]);
            output.list(&client.get::<List<OffloadStatistics>>(&format!("/api/v1/offload/stats{query}")).await?.items)
        }
        Verb::Log { volume, limit } => {
            let limit = limit.to_string();
            let query = query(&[("volume", volume.as_deref()), ("limit", Some(&limit))]);
            output.list(&client.get::<List<OffloadRefusal>>(&format!("/api/v1/offload/log{query}")).await?.items)
        }
    }
}
