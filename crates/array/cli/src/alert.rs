//! `windlass alert`: conditions that need attention, and their acknowledgement.

use crate::advice::alert_help;
use crate::client::{Client, segment};
use crate::error::CliError;
use crate::event::severity;
use crate::output::{Column, Format, Output, Resource, column, minor, wide};
use api::{Alert, AlertAcknowledge, NoticeState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Verbs of `windlass alert`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List active alerts, most severe first
    #[command(
        after_help = "Examples:\n  windlass alert list\n  windlass alert list --ended\n\nThe array keeps alerts for 30 days after their end, and at most 1000."
    )]
    List {
        /// List those that have ended, the last one first
        #[arg(long)]
        ended: bool,
    },
    /// Acknowledge an alert: channels receive no further message about it, except that it ended
    #[command(
        after_help = "Examples:\n  windlass alert ack pool-threshold --note 'new disk ordered'\n  windlass alert ack sign-in-failed --for 2h\n\nThe acknowledgement also ends when the alert becomes more severe."
    )]
    Ack {
        /// Code of the alert; its id if several alerts have the code (windlass alert list -o wide)
        alert: String,
        /// Note for others
        #[arg(long, value_name = "TEXT", default_value = "")]
        note: String,
        /// Time after which the alert is sent again if it still holds, such as 2h or 7d [default: unlimited]
        #[arg(long = "for", value_name = "TIME", value_parser = api::duration::parse)]
        time: Option<Duration>,
    },
    /// End the acknowledgement of an alert
    #[command(after_help = "Example:\n  windlass alert unack pool-threshold")]
    Unack {
        /// Code of the alert; its id if several alerts have the code
        alert: String,
    },
}

impl Resource for Alert {
    const WHEN_EMPTY: &'static str = "nothing needs attention";
    const COLUMNS: &'static [Column<Self>] = &[
        column("severity", |alert| severity(alert.severity).into()),
        column("alert", |alert| alert.code.as_str().into()),
        column("subject", |alert| alert.subject.as_str().into()),
        column("message", |alert| alert.message.as_str().into()),
        minor("acknowledged", |alert| alert.acknowledged.as_ref().map(|of| of.by.clone()).into()),
        minor("told", |alert| told(alert).into()),
        wide("since", |alert| format!("{:.0}", alert.since).into()),
        wide("note", |alert| alert.acknowledged.as_ref().map(|of| of.note.clone()).into()),
        wide("until", |alert| {
            alert.acknowledged.as_ref().and_then(|of| of.until).map(|until| format!("{until:.0}")).into()
        }),
        wide("help", |alert| alert_help(alert).into()),
        wide("id", |alert| alert.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.code.clone()
    }
}

/// Alert that has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Ended(Alert);

impl Resource for Ended {
    const WHEN_EMPTY: &'static str = "no alert has ended in the last 30 days";
    const COLUMNS: &'static [Column<Self>] = &[
        column("severity", |Self(alert)| severity(alert.severity).into()),
        column("alert", |Self(alert)| alert.code.as_str().into()),
        column("subject", |Self(alert)| alert.subject.as_str().into()),
        column("since", |Self(alert)| format!("{:.0}", alert.since).into()),
        column("ended", |Self(alert)| alert.ended.map(|ended| format!("{ended:.0}")).into()),
        column("message", |Self(alert)| alert.message.as_str().into()),
        wide("acknowledged", |Self(alert)| alert.acknowledged.as_ref().map(|of| of.by.clone()).into()),
        wide("note", |Self(alert)| alert.acknowledged.as_ref().map(|of| of.note.clone()).into()),
        wide("told", |Self(alert)| told(alert).into()),
        wide("help", |Self(alert)| alert_help(alert).into()),
        wide("id", |Self(alert)| alert.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.0.code.clone()
    }
}

/// Channels with the states of their messages: `ops:sent siem:failed`.
fn told(alert: &Alert) -> Option<String> {
    let told: Vec<String> = alert.told.iter().map(|of| format!("{}:{}", of.channel, state(of.outcome))).collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// Word of the state of a message.
pub(crate) const fn state(state: NoticeState) -> &'static str {
    match state {
        NoticeState::Queued => "queued",
        NoticeState::Sent => "sent",
        NoticeState::Failed => "failed",
        NoticeState::Quiet => "quiet",
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List { ended: true } => output.list(&client.long_list::<Ended>("/api/v1/alerts?state=ended").await?),
        Verb::List { ended: false } => {
            let alerts = client.long_list::<Alert>("/api/v1/alerts").await?;
            output.list(&alerts)?;
            if output.format() == Format::Table {
                for alert in &alerts {
                    output.report(&format!("help: {}: {}", alert.code, alert_help(alert)));
                }
            }
            Ok(())
        }
        Verb::Ack { alert, note, time } => {
            let until = time.map(|time| Timestamp::now().checked_add(time)).transpose();
            let until = until.map_err(|_| CliError::usage("the time would end beyond the calendar".to_owned()))?;
            let request = AlertAcknowledge { note: note.clone(), until };
            let alert = client.post::<Alert>(&path(alert), &request).await?.body;
            output.made("alert", &alert, true)
        }
        Verb::Unack { alert } => {
            client.delete(&path(alert)).await?;
            output.report(&format!("alert {alert} is not acknowledged any more"));
            Ok(())
        }
    }
}

fn path(alert: &str) -> String {
    format!("/api/v1/alerts/{}/acknowledgement", segment(alert))
}
