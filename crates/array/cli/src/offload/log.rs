//! `windlass offload log`: commands that were refused, failed, or had no benefit.

use super::{kind, volume};
use crate::client::{Client, query};
use crate::error::CliError;
use crate::follow::{self, Since};
use crate::output::{Column, Output, Resource, Value, column, minor, wide};
use api::{OffloadEnding, OffloadRefusal};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;

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
    /// Keep running and show new entries until Ctrl-C, and how many commands came to one that was shown (+3); with
    /// -o json, one object per line
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

/// Entry of the log as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Line {
    #[serde(flatten)]
    entry: OffloadRefusal,
    /// Commands since the entry was shown before; absent where it is shown for the first time.
    #[serde(skip)]
    further: Option<u64>,
}

impl Resource for Line {
    const WHEN_EMPTY: &'static str = "no such command";
    const COLUMNS: &'static [Column<Self>] = &[
        wide("sequence", |line| Value::Number(line.entry.sequence)),
        wide("first", |line| format!("{:.0}", line.entry.begun()).into()),
        column("time", |line| format!("{:.0}", line.entry.time).into()),
        column("count", |line| match line.further {
            Some(further) => format!("+{further}").into(),
            None => Value::Times(line.entry.count),
        }),
        column("volume", |line| volume(&line.entry.volume, line.entry.deleted)),
        wide("kind", |line| kind(line.entry.kind).into()),
        column("primitive", |line| line.entry.primitive.to_uppercase().into()),
        wide("command", |line| line.entry.command.as_str().into()),
        minor("host", |line| line.entry.host.as_ref().unwrap_or(&line.entry.initiator).as_str().into()),
        wide("initiator", |line| line.entry.initiator.as_str().into()),
        minor("ending", |line| Ending::of(line.entry.ending).name().into()),
        column("reason", |line| line.entry.reason_code.as_str().into()),
        wide("in-words", |line| line.entry.reason.as_str().into()),
        wide("holder", |line| line.entry.holder.as_ref().map(|holder| holder.name()).into()),
        wide("bytes", |line| Value::Bytes(line.entry.bytes)),
        column("detail", |line| line.entry.detail.as_str().into()),
    ];

    fn name(&self) -> String {
        self.entry.sequence.to_string()
    }
}

/// Query of the log, without its start.
struct Wanted<'a> {
    log: &'a Log,
    from: Option<String>,
}

impl Wanted<'_> {
    async fn fetch(&self, client: &Client, since: Option<u64>, limit: u32) -> Result<Vec<OffloadRefusal>, CliError> {
        self.fetch_from(client, since, self.from.as_deref(), limit).await
    }

    async fn fetch_from(
        &self,
        client: &Client,
        since: Option<u64>,
        from: Option<&str>,
        limit: u32,
    ) -> Result<Vec<OffloadRefusal>, CliError> {
        let (since, limit) = (since.map(|id| id.to_string()), limit.to_string());
        let log = self.log;
        let query = query(&[
            ("since", since.as_deref()),
            ("volume", log.volume.as_deref().or(log.name.as_deref())),
            ("host", log.host.as_deref()),
            ("primitive", log.primitive.as_deref()),
            ("ending", log.outcome.map(Ending::name)),
            ("from", from),
            ("limit", Some(&limit)),
        ]);
        client.list::<OffloadRefusal>(&format!("/api/v1/offload/log{query}")).await
    }

    /// Lines about what happened since the last call.
    async fn news(&self, client: &Client, shown: &mut Shown) -> Result<Vec<Line>, CliError> {
        let Some(last) = &shown.last else {
            // Before anything was shown, what was asked for is still what is wanted.
            let since = self.log.since.and_then(Since::id);
            return Ok(shown.news(self.fetch(client, since, ALL).await?));
        };
        // New and grown entries have a time that is not before the last one. After the clock was set back, only new
        // entries are found, by their larger numbers.
        let from = shown.newest.map(|time| time.to_string());
        let found = self.fetch_from(client, None, from.as_deref(), ALL).await?;
        if found.iter().any(|entry| entry.sequence > last.sequence) {
            return Ok(shown.news(found));
        }
        let after = self.fetch(client, Some(last.sequence), ALL).await?;
        let mut lines = shown.news(found);
        lines.extend(shown.news(after));
        Ok(lines)
    }
}

/// Entries that were shown.
#[derive(Debug, Default)]
struct Shown {
    last: Option<OffloadRefusal>,
    /// Latest time of a command.
    newest: Option<Timestamp>,
    /// The last entries by number, as many as the log has: when they began, and their commands.
    counts: BTreeMap<u64, (Timestamp, u64)>,
}

impl Shown {
    /// Lines about entries that are new or have grown, in their order. An entry with an old number is new if it began
    /// later than all: the array has restarted.
    fn news(&mut self, found: Vec<OffloadRefusal>) -> Vec<Line> {
        let line = |entry: &OffloadRefusal| {
            let before = self.counts.get(&entry.sequence).filter(|(begun, _)| *begun == entry.begun());
            let further = match (before, &self.last) {
                (Some((_, count)), _) if entry.count > *count => Some(entry.count - *count),
                (Some(_), _) => return None,
                (None, Some(last)) if entry.sequence <= last.sequence && entry.begun() <= last.begun() => return None,
                (None, _) => None,
            };
            Some(Line { entry: entry.clone(), further })
        };
        let lines: Vec<Line> = found.iter().filter_map(line).collect();
        let latest =
            |one: &OffloadRefusal, last: &OffloadRefusal| one.begun() > last.begun() || one.sequence > last.sequence;
        for entry in found {
            self.newest = self.newest.max(Some(entry.time));
            self.counts.insert(entry.sequence, (entry.begun(), entry.count));
            if self.last.as_ref().is_none_or(|last| latest(&entry, last)) {
                self.last = Some(entry);
            }
        }
        while self.counts.len() > ALL as usize {
            self.counts.pop_first();
        }
        lines
    }
}

pub(super) async fn run(log: &Log, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let wanted = Wanted { log, from: log.since.and_then(Since::time).map(|from| from.to_string()) };
    let entries = match log.since {
        // The array lists the entries after an entry oldest first, but the command shows the newest.
        Some(Since::Id(id)) => wanted.fetch(client, Some(id), ALL).await?,
        // Entries that are not shown may grow.
        _ if log.follow => wanted.fetch(client, None, ALL).await?,
        None | Some(Since::Seconds(_)) => wanted.fetch(client, None, log.limit.clamp(1, ALL)).await?,
    };
    let mut shown = Shown::default();
    let mut lines = shown.news(entries);
    let surplus = lines.len().saturating_sub(usize::try_from(log.limit).unwrap_or(usize::MAX));
    lines.drain(..surplus);
    if !log.follow {
        return output.list(&lines);
    }
    output.more(&lines, true)?;
    follow::until_interrupted(async {
        while follow::goes_on(output).await {
            let news = wanted.news(client, &mut shown).await?;
            output.more(&news, false)?;
        }
        Ok(())
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::ContentKind;

    fn entry(sequence: u64, second: i64) -> OffloadRefusal {
        OffloadRefusal {
            sequence,
            time: Timestamp::from_second(second).unwrap_or_default(),
            first: Timestamp::from_second(second).ok(),
            count: 1,
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
            holder: None,
            bytes: 0,
            detail: String::new(),
        }
    }

    fn grown(entry: OffloadRefusal, count: u64) -> OffloadRefusal {
        OffloadRefusal { count, ..entry }
    }

    /// Numbers of the lines, with what they say about growth.
    fn lines(shown: &mut Shown, found: Vec<OffloadRefusal>) -> Vec<(u64, Option<u64>)> {
        shown.news(found).into_iter().map(|line| (line.entry.sequence, line.further)).collect()
    }

    /// After a restart the array numbers from 0 again, and an entry of the new run is shown although its number was.
    #[test]
    fn entries_of_a_new_run_are_new() {
        let whole = || vec![entry(0, 20), entry(1, 21)];
        let after = |last: OffloadRefusal| {
            let mut shown = Shown::default();
            shown.news(vec![last]);
            lines(&mut shown, whole())
        };
        assert_eq!(after(entry(7, 10)), [(0, None), (1, None)]);
        assert_eq!(after(entry(0, 20)), [(1, None)]);
        assert_eq!(lines(&mut Shown::default(), whole()), [(0, None), (1, None)]);
    }

    /// The sum of what the lines of an entry say is its count.
    #[test]
    fn growth_is_shown_once() {
        let mut shown = Shown::default();
        assert_eq!(lines(&mut shown, vec![entry(0, 10), grown(entry(1, 11), 3)]), [(0, None), (1, None)]);
        assert_eq!(lines(&mut shown, vec![entry(0, 10), grown(entry(1, 11), 3)]), []);
        let grew = || vec![grown(entry(0, 10), 2), grown(entry(1, 11), 8), grown(entry(2, 12), 4)];
        assert_eq!(lines(&mut shown, grew()), [(0, Some(1)), (1, Some(5)), (2, None)]);
        assert_eq!(lines(&mut shown, grew()), []);
        // An entry behind many others grows too.
        shown.news((3..200).map(|sequence| entry(sequence, 20)).collect());
        assert_eq!(lines(&mut shown, vec![entry(150, 20), grown(entry(2, 12), 5)]), [(2, Some(1))]);
        assert_eq!(shown.last.map(|last| last.sequence), Some(199));
    }

    /// An array of an older release says of no entry when it began.
    #[test]
    fn entries_without_a_first_time_begin_with_their_command() {
        let old = |sequence, second| OffloadRefusal { first: None, ..entry(sequence, second) };
        let mut shown = Shown::default();
        assert_eq!(lines(&mut shown, vec![old(8, 10), old(9, 11)]), [(8, None), (9, None)]);
        assert_eq!(lines(&mut shown, vec![old(9, 11), old(10, 11)]), [(10, None)]);
        // The array has restarted.
        assert_eq!(lines(&mut shown, vec![old(0, 12)]), [(0, None)]);
    }
}
