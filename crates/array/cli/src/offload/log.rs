//! `windlass offload log`: commands that were refused, failed, or had no benefit.

use super::{kind, volume};
use crate::client::{Client, query};
use crate::error::CliError;
use crate::follow::{self, Since};
use crate::output::{Column, Output, Resource, Value, column, minor, wide};
use api::{OffloadEnding, OffloadRefusal};

/// Maximum number of entries of one answer.
const ALL: u32 = 10_000;

/// Options of `offload log`.
#[derive(Clone, Debug, clap::Args)]
pub struct Log {
    /// Only this volume or share
    name: Option<String>,
    /// Only this volume or share
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    volume: Option<String>,
    /// Only commands of this host, or of the initiator or client with this name or address
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Only commands of this primitive, as in offload stats
    #[arg(long, value_name = "PRIMITIVE")]
    primitive: Option<String>,
    /// Only commands with this outcome
    #[arg(long, alias = "ending", value_enum)]
    outcome: Option<Ending>,
    /// Only entries after the one with this number (-o wide shows it), or since this time: 90s, 30m, 2h, 7d
    #[arg(long, value_name = "ID|TIME", value_parser = follow::parse_since)]
    since: Option<Since>,
    /// Maximum number of entries, the newest
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
    /// Keep running and show new entries until Ctrl-C; with -o json, one object per line
    #[arg(long, short)]
    follow: bool,
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

impl Resource for OffloadRefusal {
    const WHEN_EMPTY: &'static str = "no such command";
    const COLUMNS: &'static [Column<Self>] = &[
        wide("sequence", |refusal| Value::Number(refusal.sequence)),
        column("time", |refusal| format!("{:.0}", refusal.time).into()),
        column("volume", |refusal| volume(&refusal.volume, refusal.deleted)),
        wide("kind", |refusal| kind(refusal.kind).into()),
        column("primitive", |refusal| refusal.primitive.to_uppercase().into()),
        wide("command", |refusal| refusal.command.as_str().into()),
        minor("host", |refusal| refusal.host.as_ref().unwrap_or(&refusal.initiator).as_str().into()),
        wide("initiator", |refusal| refusal.initiator.as_str().into()),
        minor("ending", |refusal| Ending::of(refusal.ending).name().into()),
        column("reason", |refusal| refusal.reason_code.as_str().into()),
        wide("in-words", |refusal| refusal.reason.as_str().into()),
        column("detail", |refusal| refusal.detail.as_str().into()),
    ];

    fn name(&self) -> String {
        self.sequence.to_string()
    }
}

/// Query of the log, without its start.
struct Wanted<'a> {
    log: &'a Log,
    from: Option<String>,
}

impl Wanted<'_> {
    async fn fetch(&self, client: &Client, since: Option<u64>, limit: u32) -> Result<Vec<OffloadRefusal>, CliError> {
        let (since, limit) = (since.map(|id| id.to_string()), limit.to_string());
        let log = self.log;
        let query = query(&[
            ("since", since.as_deref()),
            ("volume", log.volume.as_deref().or(log.name.as_deref())),
            ("host", log.host.as_deref()),
            ("primitive", log.primitive.as_deref()),
            ("ending", log.outcome.map(Ending::name)),
            ("from", self.from.as_deref()),
            ("limit", Some(&limit)),
        ]);
        client.list::<OffloadRefusal>(&format!("/api/v1/offload/log{query}")).await
    }

    /// Entries after the last one that was shown.
    async fn news(&self, client: &Client, last: Option<&OffloadRefusal>) -> Result<Vec<OffloadRefusal>, CliError> {
        // The last one comes again, unless it was dropped or the array has restarted and numbers from 0 again.
        if let Some(last) = last.filter(|last| last.sequence > 0) {
            let mut found = self.fetch(client, Some(last.sequence - 1), ALL).await?;
            if found.first().is_some_and(|first| is_same(first, last)) {
                found.remove(0);
                return Ok(found);
            }
        }
        Ok(after(self.fetch(client, None, ALL).await?, last))
    }
}

fn is_same(one: &OffloadRefusal, other: &OffloadRefusal) -> bool {
    (one.sequence, one.time) == (other.sequence, other.time)
}

/// Entries of a whole log that are newer than `last`, which may be one of an earlier run of the array.
fn after(mut log: Vec<OffloadRefusal>, last: Option<&OffloadRefusal>) -> Vec<OffloadRefusal> {
    if let Some(last) = last {
        log.retain(|entry| entry.sequence > last.sequence || entry.time > last.time);
    }
    log
}

pub(super) async fn run(log: &Log, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let wanted = Wanted { log, from: log.since.and_then(Since::time).map(|from| from.to_string()) };
    let limit = log.limit.clamp(1, ALL);
    let mut entries = match log.since {
        // The array lists the entries after an entry oldest first, but the command shows the newest.
        Some(Since::Id(id)) => wanted.fetch(client, Some(id), ALL).await?,
        None | Some(Since::Seconds(_)) => wanted.fetch(client, None, limit).await?,
    };
    let mut last = entries.last().cloned();
    let surplus = entries.len().saturating_sub(usize::try_from(log.limit).unwrap_or(usize::MAX));
    entries.drain(..surplus);
    if !log.follow {
        return output.list(&entries);
    }
    output.more(&entries, true)?;
    follow::until_interrupted(async {
        while follow::goes_on(output).await {
            let news = wanted.news(client, last.as_ref()).await?;
            output.more(&news, false)?;
            last = news.into_iter().next_back().or(last);
        }
        Ok(())
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::ContentKind;
    use jiff::Timestamp;

    fn entry(sequence: u64, second: i64) -> OffloadRefusal {
        OffloadRefusal {
            sequence,
            time: Timestamp::from_second(second).unwrap_or_default(),
            volume: "v1".to_owned(),
            deleted: false,
            kind: ContentKind::Volume,
            initiator: "iqn.2026-01.org.example:h".to_owned(),
            host: None,
            primitive: "unmap".to_owned(),
            command: "UNMAP".to_owned(),
            ending: OffloadEnding::Refused,
            reason_code: "over-limit".to_owned(),
            reason: String::new(),
            detail: String::new(),
        }
    }

    /// After a restart the array numbers from 0 again, and an entry of the new run is shown although its number was.
    #[test]
    fn entries_of_a_new_run_are_new() {
        let numbers = |log: Vec<OffloadRefusal>| log.iter().map(|entry| entry.sequence).collect::<Vec<_>>();
        let whole = || vec![entry(0, 20), entry(1, 21)];
        assert_eq!(numbers(after(whole(), Some(&entry(7, 10)))), [0, 1]);
        assert_eq!(numbers(after(whole(), Some(&entry(0, 20)))), [1]);
        assert_eq!(numbers(after(whole(), None)), [0, 1]);
        assert!(is_same(&entry(1, 21), &entry(1, 21)) && !is_same(&entry(1, 21), &entry(1, 9)));
    }
}
