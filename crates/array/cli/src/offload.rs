//! `windlass offload`: statistics of each primitive, and the log of refused commands.

use crate::client::{Client, query};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, wide};
use api::{OffloadEnding, OffloadRefusal, OffloadStatistics};

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
    /// Show commands that were refused, failed, or succeeded without the benefit of the offload,
    /// with the reasons; oldest first
    #[command(
        after_help = "Examples:\n  windlass offload log\n  windlass offload log --ending refused\n  windlass offload log win-dc1 --limit 20\n\nEndings: refused (the host asked for what it cannot have), failed (inside the array), ineffective (done, but data had to be moved, or nothing could be freed)"
    )]
    Log {
        /// Only this volume
        volume: Option<String>,
        /// Only commands with this outcome
        #[arg(long, value_enum)]
        ending: Option<Ending>,
        /// Maximum number of entries, the newest
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u32,
    },
}

/// Outcome of a command in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Ending {
    /// Refused
    Refused,
    /// Failed inside the array
    Failed,
    /// Succeeded without the benefit of the offload
    Ineffective,
}

impl Ending {
    const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Ineffective => "ineffective",
        }
    }

    const fn of(ending: OffloadEnding) -> Self {
        match ending {
            OffloadEnding::Refused => Self::Refused,
            OffloadEnding::Failed => Self::Failed,
            OffloadEnding::Ineffective => Self::Ineffective,
        }
    }
}

/// Name of a volume, with a mark if it was deleted.
fn volume(name: &str, deleted: bool) -> Value {
    if deleted { format!("{name} (deleted)").into() } else { name.into() }
}

impl Resource for OffloadStatistics {
    const WHEN_EMPTY: &'static str = "no host has used an offload since the array started";
    const COLUMNS: &'static [Column<Self>] = &[
        column("volume", |row| volume(&row.volume, row.deleted)),
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

/// Most frequent reason of a refusal, with its count. Miscompares, failures and commands without a
/// benefit are no refusals; they have columns of their own.
fn top_refusal(row: &OffloadStatistics) -> Option<String> {
    row.refusals.first().map(|reason| format!("{} ({})", reason.reason_code, reason.count))
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
    const WHEN_EMPTY: &'static str = "no such command";
    const COLUMNS: &'static [Column<Self>] = &[
        wide("sequence", |refusal| Value::Number(refusal.sequence)),
        column("time", |refusal| format!("{:.0}", refusal.time).into()),
        column("volume", |refusal| volume(&refusal.volume, refusal.deleted)),
        column("primitive", |refusal| refusal.primitive.to_uppercase().into()),
        column("host", |refusal| who(refusal).into()),
        wide("initiator", |refusal| refusal.initiator.as_str().into()),
        column("ending", |refusal| Ending::of(refusal.ending).name().into()),
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
            output.list(&client.long_list::<OffloadStatistics>(&format!("/api/v1/offload/stats{query}")).await?)
        }
        Verb::Log { volume, ending, limit } => {
            let limit = limit.to_string();
            let ending = ending.map(Ending::name);
            let query = query(&[("volume", volume.as_deref()), ("ending", ending), ("limit", Some(&limit))]);
            output.list(&client.list::<OffloadRefusal>(&format!("/api/v1/offload/log{query}")).await?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::top_refusal;
    use api::{Latency, OffloadRefusalCount, OffloadStatistics};

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
