//! Nouns that are only listed: `windlass alert`. Each has its row here, and no file of its own before
//! it has another verb.

use crate::advice::alert_help;
use crate::client::Client;
use crate::error::CliError;
use crate::event::severity;
use crate::output::{Column, Format, Output, Resource, column, wide};
use api::Alert;

/// Nouns of this file.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum ListedNoun {
    /// Alerts: conditions that need attention
    #[command(alias = "alerts", subcommand)]
    Alert(AlertVerb),
}

/// Verbs of `windlass alert`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum AlertVerb {
    /// List active alerts, most severe first
    #[command(after_help = "Example:\n  windlass alert list")]
    List,
}

impl Resource for Alert {
    const WHEN_EMPTY: &'static str = "nothing needs attention";
    const COLUMNS: &'static [Column<Self>] = &[
        column("severity", |alert| severity(alert.severity).into()),
        column("alert", |alert| alert.code.as_str().into()),
        column("subject", |alert| alert.subject.as_str().into()),
        column("message", |alert| alert.message.as_str().into()),
        wide("since", |alert| format!("{:.0}", alert.since).into()),
        wide("help", |alert| alert_help(alert).into()),
    ];

    fn name(&self) -> String {
        self.code.clone()
    }
}

pub(crate) async fn run(noun: &ListedNoun, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match noun {
        ListedNoun::Alert(AlertVerb::List) => {
            let alerts = client.long_list::<Alert>("/api/v1/alerts").await?;
            output.list(&alerts)?;
            if output.format() == Format::Table {
                for alert in &alerts {
                    output.report(&format!("help: {}: {}", alert.code, alert_help(alert)));
                }
            }
            Ok(())
        }
    }
}
