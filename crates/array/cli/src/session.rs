//! `windlass session`: iSCSI sessions of hosts.

use crate::client::Client;
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, minor, wide};
use crate::selection::Selection;
use api::{Login, LoginOutcome, Session, SessionParameters};

/// Verbs of `windlass session`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List sessions
    #[command(
        after_help = "Examples:\n  windlass session list\n  windlass session list --filter host=esx01 --sort -commands"
    )]
    List(Selection),
    /// List login attempts of initiators, accepted and refused, newest first
    #[command(
        after_help = "Examples:\n  windlass session logins\n  windlass session logins --filter refused=true\n  windlass session logins --filter host=esx01 --limit 10\n\nEqual attempts are one row with a count. Make a host of an initiator that is not known:\n  windlass host create NAME --iqn IQN"
    )]
    Logins(Selection),
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
        minor("from", |session| session.peer_address.as_str().into()),
        minor("portal", |session| session.portal.as_str().into()),
        column("commands", |session| Value::Number(session.commands)),
        column("read", |session| Value::Bytes(session.read_bytes)),
        column("written", |session| Value::Bytes(session.written_bytes)),
        wide("mss", |session| session.mss_bytes.map(|bytes| Value::Number(bytes.into())).into()),
        wide("burst", |session| Value::Bytes(session.parameters.max_burst_bytes.into())),
        wide("first-burst", |session| Value::Bytes(session.parameters.first_burst_bytes.into())),
        wide("digests", |session| digests(&session.parameters).into()),
        wide("since", |session| format!("{:.0}", session.since).into()),
        wide("last-io", |session| session.last_io.map(|time| format!("{time:.0}")).into()),
    ];

    fn name(&self) -> String {
        self.id.to_string()
    }
}

/// Digests of a session: `none`, `header`, `data` or `header,data`.
const fn digests(of: &SessionParameters) -> &'static str {
    match (of.header_digest, of.data_digest) {
        (false, false) => "none",
        (true, false) => "header",
        (false, true) => "data",
        (true, true) => "header,data",
    }
}

impl Resource for Login {
    const WHEN_EMPTY: &'static str = "no initiator has tried to log in since the array started";
    const COLUMNS: &'static [Column<Self>] = &[
        column("time", |login| format!("{:.0}", login.time).into()),
        column("count", |login| Value::Number(login.count)),
        column("initiator", |login| login.initiator.as_str().into()),
        minor("from", |login| login.from.to_string().into()),
        column("host", |login| login.host.clone().into()),
        minor("for", |login| if login.discovery { "discovery" } else { "login" }.into()),
        column("outcome", |login| outcome(login.outcome).into()),
        column("detail", |login| login.detail.as_str().into()),
        wide("portal", |login| login.portal.to_string().into()),
        wide("first", |login| format!("{:.0}", login.first).into()),
        wide("id", |login| Value::Number(login.id)),
    ];

    fn name(&self) -> String {
        self.initiator.clone()
    }
}

const fn outcome(outcome: LoginOutcome) -> &'static str {
    match outcome {
        LoginOutcome::Ok => "ok",
        LoginOutcome::UnknownInitiator => "unknown-initiator",
        LoginOutcome::ChapFailed => "chap-failed",
        LoginOutcome::NotGranted => "not-granted",
        LoginOutcome::Full => "full",
        LoginOutcome::Redirected => "redirected",
        LoginOutcome::UnknownTarget => "unknown-target",
        LoginOutcome::Protocol => "protocol",
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List(selection) => selection.show::<Session>("/api/v1/sessions", client, output).await.map(drop),
        Verb::Logins(selection) => selection.show::<Login>("/api/v1/logins", client, output).await.map(drop),
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
