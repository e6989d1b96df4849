//! `windlass session`: iSCSI sessions of hosts.

use crate::client::Client;
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, wide};
use crate::selection::Selection;
use api::Session;

/// Verbs of `windlass session`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List sessions
    #[command(
        after_help = "Examples:\n  windlass session list\n  windlass session list --filter host=esx01 --sort -commands"
    )]
    List(Selection),
    /// End a session; the host may log in again
    #[command(after_help = "Example:\n  windlass session drop 7")]
    Drop {
        /// Number of the session
        id: u64,
        #[command(flatten)]
        rehearsal: DryRun,
    },
}

impl Resource for Session {
    const WHEN_EMPTY: &'static str = "no host is connected; list the grants:  windlass access list";
    const COLUMNS: &'static [Column<Self>] = &[
        column("id", |session| Value::Number(session.id)),
        column("host", |session| session.host.clone().into()),
        column("initiator", |session| session.initiator.as_str().into()),
        column("from", |session| session.peer_address.as_str().into()),
        column("portal", |session| session.portal.as_str().into()),
        column("commands", |session| Value::Number(session.commands)),
        column("read", |session| Value::Bytes(session.read_bytes)),
        column("written", |session| Value::Bytes(session.written_bytes)),
        wide("since", |session| format!("{:.0}", session.since).into()),
        wide("last-io", |session| session.last_io.map(|time| format!("{time:.0}")).into()),
    ];

    fn name(&self) -> String {
        self.id.to_string()
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List(selection) => selection.show::<Session>("/api/v1/sessions", client, output).await.map(drop),
        Verb::Drop { id, rehearsal: DryRun { dry_run: true } } => {
            let all = [(&id.to_string(), format!("/api/v1/sessions/{id}"))];
            effect::deletions("drop session", all, client, output).await
        }
        Verb::Drop { id, .. } => {
            if output.asks() {
                let sessions = client.long_list::<Session>("/api/v1/sessions").await?;
                if !sessions.iter().any(|session| session.id == *id) {
                    let help = "list the sessions:  windlass session list";
                    return Err(CliError::not_found(format!("there is no session {id}"), help));
                }
            }
            output.confirm(&format!("drop session {id}?"))?;
            client.delete(&format!("/api/v1/sessions/{id}")).await?;
            output.report(&format!("session {id} dropped"));
            Ok(())
        }
    }
}
