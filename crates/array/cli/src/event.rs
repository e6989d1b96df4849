//! `windlass event`: past changes.

use crate::client::{Client, query};
use crate::error::CliError;
use crate::follow::{self, Since};
use crate::output::{Column, Output, Resource, Value, column, wide};
use api::{Event, Severity};

/// Maximum number of events that the array keeps.
const ALL: u32 = 10_000;

/// Verbs of `windlass event`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List events, oldest first
    #[command(
        after_help = "Examples:\n  windlass event list\n  windlass event list --since 2h --severity warning\n  windlass event list --subject win-dc1\n  windlass event list --code pool-full -o json\n  windlass event list --follow"
    )]
    List(List),
}

/// Options of `event list`.
#[derive(Clone, Debug, clap::Args)]
pub struct List {
    /// Only events after the event with this number, or since this time: 90s, 30m, 2h, 7d
    #[arg(long, value_name = "ID|TIME", value_parser = follow::parse_since)]
    since: Option<Since>,
    /// Only events of this severity or a worse one
    #[arg(long, value_enum, value_name = "info|warning|critical", hide_possible_values = true)]
    severity: Option<Least>,
    /// Only events of this kind, such as pool-full; -o wide shows the codes
    #[arg(long)]
    code: Option<String>,
    /// Only events about the object with this name; the events of a volume include those of its
    /// snapshots
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// Maximum number of events, the newest
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
    /// Keep running and show new events until Ctrl-C; with -o json, one object per line
    #[arg(long, short)]
    follow: bool,
}

/// Lowest severity to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Least {
    /// All events
    Info,
    /// Events that need attention
    Warning,
    /// Events that need attention now
    Critical,
}

impl Resource for Event {
    const WHEN_EMPTY: &'static str = "nothing happened in that time";
    const COLUMNS: &'static [Column<Self>] = &[
        column("id", |event| Value::Number(event.id)),
        column("time", |event| format!("{:.0}", event.time).into()),
        column("severity", |event| severity(event.severity).into()),
        wide("code", |event| event.code.as_str().into()),
        wide("subject", |event| event.subject.as_str().into()),
        column("message", |event| event.message.as_str().into()),
    ];

    fn name(&self) -> String {
        self.id.to_string()
    }
}

/// Name of the severity.
pub(crate) const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Critical => "critical",
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let Verb::List(list) = verb;
    let query = Query::of(list);
    let mut events = match list.since {
        // The array lists the events after an event oldest first, but the command shows the newest:
        // request all of them and shorten the list here.
        Some(Since::Id(id)) => query.fetch(client, Some(id), ALL).await?,
        None | Some(Since::Seconds(_)) => query.fetch(client, None, possible(list.limit)).await?,
    };
    let newest = events.last().map(|event| event.id);
    shorten(&mut events, list.limit);
    if !list.follow {
        return output.list(&events);
    }
    let first = match list.since {
        Some(Since::Id(id)) => id,
        None | Some(Since::Seconds(_)) => 0,
    };
    let mut last = newest.unwrap_or(first);
    output.more(&events, true)?;
    follow::until_interrupted(async {
        while follow::goes_on(output).await {
            let events = query.fetch(client, Some(last), ALL).await?;
            last = events.last().map_or(last, |event| event.id);
            output.more(&events, false)?;
        }
        Ok(())
    })
    .await
}

/// Limit that the array takes. Without a wanted event, the newest one tells where `--follow` begins.
fn possible(limit: u32) -> u32 {
    limit.clamp(1, ALL)
}

/// Keeps the newest events.
fn shorten(events: &mut Vec<Event>, limit: u32) {
    let surplus = events.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
    events.drain(..surplus);
}

/// Returns the query of a list without its start.
struct Query<'a> {
    severity: Option<&'static str>,
    code: Option<&'a str>,
    subject: Option<&'a str>,
    from: Option<String>,
}

impl<'a> Query<'a> {
    fn of(list: &'a List) -> Self {
        let severity = list.severity.map(|least| {
            severity(match least {
                Least::Info => Severity::Info,
                Least::Warning => Severity::Warning,
                Least::Critical => Severity::Critical,
            })
        });
        let from = list.since.and_then(Since::time).map(|from| from.to_string());
        Self { severity, code: list.code.as_deref(), subject: list.subject.as_deref(), from }
    }

    async fn fetch(&self, client: &Client, since: Option<u64>, limit: u32) -> Result<Vec<Event>, CliError> {
        let (since, limit) = (since.map(|id| id.to_string()), limit.to_string());
        let query = query(&[
            ("since", since.as_deref()),
            ("severity", self.severity),
            ("code", self.code),
            ("subject", self.subject),
            ("from", self.from.as_deref()),
            ("limit", Some(&limit)),
        ]);
        client.list::<Event>(&format!("/api/v1/events{query}")).await
    }
}
