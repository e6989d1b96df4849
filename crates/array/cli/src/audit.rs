//! `windlass audit`: who changed what.

use crate::client::{Client, query};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, wide};
use crate::private_file;
use api::{AuditEntry, AuditVerification};
use jiff::Timestamp;
use std::path::PathBuf;

/// Most entries of one answer.
const PART: u32 = 1000;

/// Verbs of `windlass audit`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List changes, sign-ins and refused changes, newest first
    #[command(
        after_help = "Examples:\n  windlass audit list\n  windlass audit list --who anna --limit 20\n  windlass audit list --action volume_delete --since 2026-11-01T00:00:00Z -o json"
    )]
    List(Wanted),
    /// Export the lines of the audit as they are, oldest first
    #[command(
        after_help = "Examples:\n  windlass audit export --file audit.jsonl\n  windlass audit export --since 2026-11-01T00:00:00Z | jq ."
    )]
    Export {
        /// File to write [default: standard output]
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Only lines from this time on, such as 2026-11-01T00:00:00Z
        #[arg(long, value_name = "TIME")]
        since: Option<Timestamp>,
        /// Only lines up to this time
        #[arg(long, value_name = "TIME")]
        until: Option<Timestamp>,
    },
    /// Verify that no entry was changed or removed
    #[command(after_help = "Example:\n  windlass audit verify\n\nExit status: 9 when an entry was changed or removed")]
    Verify,
}

/// Options of `audit list`.
#[derive(Clone, Debug, clap::Args)]
pub struct Wanted {
    /// Only changes by this user or token, or uid:N
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
    /// Only this operation, such as volume_delete
    #[arg(long, value_name = "OPERATION")]
    action: Option<String>,
    /// Only changes of the object with this name or id
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Only changes from this time on, such as 2026-11-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Only changes up to this time
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
}

impl Resource for AuditEntry {
    const WHEN_EMPTY: &'static str = "no entries";
    const COLUMNS: &'static [Column<Self>] = &[
        column("seq", |entry| Value::Number(entry.seq)),
        column("time", |entry| format!("{:.0}", entry.time).into()),
        column("who", |entry| entry.who.name.as_str().into()),
        wide("from", |entry| entry.who.from.clone().into()),
        column("action", |entry| entry.action.as_str().into()),
        column("target", |entry| (!entry.target.name.is_empty()).then(|| entry.target.name.clone()).into()),
        column("result", |entry| entry.result.as_str().into()),
        wide("code", |entry| entry.code.clone().into()),
        column("change", |entry| change(entry).into()),
        wide("took", |entry| entry.duration_us.map_or(Value::None, Value::Microseconds)),
    ];

    fn name(&self) -> String {
        self.seq.to_string()
    }
}

/// Fields before and after, in a line.
fn change(entry: &AuditEntry) -> Option<String> {
    let field = |(name, change): (&String, &api::AuditChange)| {
        if change.before.is_null() {
            format!("{name}={}", change.after)
        } else {
            format!("{name}={}→{}", change.before, change.after)
        }
    };
    let fields: Vec<String> = entry.change.iter().map(field).collect();
    (!fields.is_empty()).then(|| fields.join(" "))
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List(wanted) => output.list(&fetch(wanted, client).await?),
        Verb::Export { file, since, until } => {
            let [since, until] = [since, until].map(|time| time.map(|time| time.to_string()));
            let times = query(&[("since", since.as_deref()), ("until", until.as_deref())]);
            let lines = client.text(&format!("/api/v1/audit.jsonl{times}")).await?;
            match file {
                Some(path) => {
                    private_file::write(path, lines.as_bytes())?;
                    output.report(&format!("{} lines written to {}", lines.lines().count(), path.display()));
                    Ok(())
                }
                None => output.text(&lines),
            }
        }
        Verb::Verify => {
            let found = client.get::<AuditVerification>("/api/v1/audit/verify").await?;
            if output.is_document() {
                output.document(&found)?;
            } else {
                output.text(&format!("{} lines verified\n", found.lines))?;
            }
            match found.first_bad {
                None => Ok(()),
                Some(place) => {
                    let message = format!("the audit was changed or a part is missing: {place}");
                    Err(CliError::findings(message, "compare with a copy of STATE_DIR/audit"))
                }
            }
        }
    }
}

async fn fetch(wanted: &Wanted, client: &Client) -> Result<Vec<AuditEntry>, CliError> {
    let [since, until] = [wanted.since, wanted.until].map(|time| time.map(|time| time.to_string()));
    let limit = wanted.limit.clamp(1, PART).to_string();
    let parameters = [
        ("who", wanted.who.as_deref()),
        ("action", wanted.action.as_deref()),
        ("target", wanted.target.as_deref()),
        ("since", since.as_deref()),
        ("until", until.as_deref()),
        ("limit", Some(limit.as_str())),
    ];
    let most = usize::try_from(wanted.limit).unwrap_or(usize::MAX);
    Ok(client.up_to(&format!("/api/v1/audit{}", query(&parameters)), most).await?.0)
}
