//! `windlass event` and `windlass alert`: past changes, and conditions that need attention now.

use crate::client::{Client, query};
use crate::error::CliError;
use crate::output::{Column, Format, Output, Resource, Value, column, wide};
use api::{Alert, Event, List, Severity};
use jiff::Timestamp;
use std::time::Duration;

/// Interval between two requests when following.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of events that the array keeps.
const ALL: u32 = 10_000;

/// Verbs of `windlass event`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List events, oldest first
    #[command(
        after_help = "Examples:\n  windlass event list\n  windlass event list --since 2h\n  windlass event list --since 1041 -o json\n  windlass event list --follow"
    )]
    List {
        /// Only events after this one, or of this time: 90s, 30m, 2h, 7d
        #[arg(long, value_name = "ID|TIME", value_parser = parse_since)]
        since: Option<Since>,
        /// At most this many, the newest
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u32,
        /// Keep running and show new events; Ctrl-C ends it. With -o json: one object per line
        #[arg(long, short)]
        follow: bool,
    },
}

/// Verbs of `windlass alert`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum AlertVerb {
    /// List active alerts, most severe first
    #[command(after_help = "Example:\n  windlass alert list")]
    List,
}

/// Start of a list of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// After the event with this number.
    Id(u64),
    /// Since this many seconds ago.
    Seconds(i64),
}

fn parse_since(text: &str) -> Result<Since, String> {
    let wrong = || format!("{text:?} is neither the id of an event nor a time such as 90s, 30m, 2h, 7d");
    if let Ok(id) = text.parse() {
        return Ok(Since::Id(id));
    }
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let number: u32 = text.strip_suffix(unit).unwrap_or_default().parse().map_err(|_| wrong())?;
    Ok(Since::Seconds(i64::from(number) * seconds))
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

impl Resource for Alert {
    const WHEN_EMPTY: &'static str = "nothing needs attention";
    const COLUMNS: &'static [Column<Self>] = &[
        column("severity", |alert| severity(alert.severity).into()),
        column("alert", |alert| alert.code.as_str().into()),
        column("subject", |alert| alert.subject.as_str().into()),
        column("message", |alert| alert.message.as_str().into()),
        wide("since", |alert| format!("{:.0}", alert.since).into()),
        wide("help", |alert| alert.help.as_str().into()),
    ];

    fn name(&self) -> String {
        self.code.clone()
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
    let Verb::List { since, limit, follow } = verb;
    let mut events = match since {
        None => fetch(client, None, *limit).await?,
        Some(Since::Id(id)) => fetch(client, Some(*id), ALL).await?,
        Some(Since::Seconds(seconds)) => {
            let first = Timestamp::now().as_second().saturating_sub(*seconds);
            let mut events = fetch(client, None, ALL).await?;
            events.retain(|event| event.time.as_second() >= first);
            events
        }
    };
    let surplus = events.len().saturating_sub(usize::try_from(*limit).unwrap_or(usize::MAX));
    events.drain(..surplus);
    if !follow {
        return output.list(&events);
    }
    let mut last = events.last().map_or(0, |event| event.id);
    output.more(&events, true)?;
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        let events = fetch(client, Some(last), ALL).await?;
        last = events.last().map_or(last, |event| event.id);
        output.more(&events, false)?;
    }
}

pub(crate) async fn run_alert(verb: &AlertVerb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let AlertVerb::List = verb;
    let alerts = client.get::<List<Alert>>("/api/v1/alerts").await?.items;
    output.list(&alerts)?;
    if output.format() == Format::Table {
        for alert in &alerts {
            output.say(&format!("help: {}: {}", alert.code, alert.help));
        }
    }
    Ok(())
}

async fn fetch(client: &Client, since: Option<u64>, limit: u32) -> Result<Vec<Event>, CliError> {
    let (since, limit) = (since.map(|id| id.to_string()), limit.to_string());
    let query = query(&[("since", since.as_deref()), ("limit", Some(&limit))]);
    Ok(client.get::<List<Event>>(&format!("/api/v1/events{query}")).await?.items)
}

#[cfg(test)]
mod tests {
    use super::{Since, parse_since};

    #[test]
    fn a_list_begins_at_an_event_or_a_time() {
        assert_eq!(parse_since("1041"), Ok(Since::Id(1041)));
        assert_eq!(parse_since("2h"), Ok(Since::Seconds(7200)));
        assert_eq!(parse_since("7d"), Ok(Since::Seconds(604_800)));
        for text in ["", "h", "2w", "-1h", "2hh", "yesterday"] {
            assert!(parse_since(text).is_err(), "{text}");
        }
    }
}
