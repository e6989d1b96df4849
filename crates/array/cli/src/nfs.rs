//! `windlass nfs`: clients of NFS, their locks, and the grace period.

use crate::client::{Client, segment};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, wide};
use api::{NfsClient, NfsClientStanding, NfsGrace, NfsLock};

/// Nouns below `windlass nfs`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// Clients of NFSv4: machines that have mounted shares
    #[command(
        alias = "clients",
        subcommand,
        after_help = "Examples:\n  windlass nfs client list --state\n  windlass nfs client expire 0000000300000001"
    )]
    Client(ClientVerb),
    /// Locks: ranges of files that clients have locked
    #[command(alias = "locks", subcommand, after_help = "Example:\n  windlass nfs lock list vms")]
    Lock(LockVerb),
    /// Grace period, in which clients reclaim their opens and locks after a restart of the array
    #[command(subcommand, after_help = "Example:\n  windlass nfs grace show")]
    Grace(GraceVerb),
}

/// Verbs of `windlass nfs client`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum ClientVerb {
    /// List the clients of NFSv4; NFSv3 has none
    #[command(after_help = "Examples:\n  windlass nfs client list\n  windlass nfs client list --state")]
    List {
        /// Show what each client has: sessions, opens, locks, copies
        #[arg(long)]
        state: bool,
    },
    /// Revoke the opens and locks of a client that does not return them
    #[command(
        after_help = "Example:\n  windlass nfs client expire 0000000300000001\n\nPrograms on the client get an error from files that they had open; they can open them again. A client whose lease has expired needs no command: it loses what another client wants."
    )]
    Expire {
        /// Client id
        id: String,
    },
}

/// Verbs of `windlass nfs lock`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum LockVerb {
    /// List the locked ranges of files in a share or snapshot
    #[command(after_help = "Examples:\n  windlass nfs lock list vms\n  windlass nfs lock list vms@monday")]
    List {
        /// Share, or snapshot as SHARE@SNAPSHOT
        share: String,
    },
}

/// Verbs of `windlass nfs grace`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum GraceVerb {
    /// Show how long the grace period lasts, and for how many clients
    #[command(after_help = "Example:\n  windlass nfs grace show")]
    Show,
}

impl Resource for NfsClient {
    const WHEN_EMPTY: &'static str = "no client of NFSv4 has mounted a share";
    const COLUMNS: &'static [Column<Self>] = &[
        column("id", |client| client.id.as_str().into()),
        column("owner", |client| client.owner.as_str().into()),
        column("standing", |client| standing(client.standing).into()),
        column("renewed", |client| format!("{:.0}", client.renewed).into()),
        wide("reclaimed", |client| if client.reclaim_complete { "yes" } else { "no" }.into()),
        wide("sessions", |client| Value::Number(client.sessions)),
        wide("opens", |client| Value::Number(client.opens)),
        wide("locks", |client| Value::Number(client.locks)),
        wide("copies", |client| Value::Number(client.copies)),
        wide("revoked", |client| Value::Number(client.revoked)),
        wide("implementation", |client| client.implementation.as_str().into()),
    ];

    fn name(&self) -> String {
        self.id.clone()
    }
}

/// Columns of `nfs client list --state`: what each client has.
const STATE: [&str; 8] = ["id", "owner", "standing", "sessions", "opens", "locks", "copies", "revoked"];

impl Resource for NfsLock {
    const WHEN_EMPTY: &'static str = "nothing is locked";
    const COLUMNS: &'static [Column<Self>] = &[
        column("share", |lock| lock.share.clone().into()),
        column("file", |lock| Value::Number(lock.file)),
        column("offset", |lock| Value::Number(lock.offset_bytes)),
        column("length", |lock| lock.length_bytes.map(Value::Number).into()),
        column("kind", |lock| if lock.exclusive { "exclusive" } else { "shared" }.into()),
        column("client", |lock| lock.client.as_str().into()),
        wide("owner", |lock| lock.owner.as_str().into()),
    ];

    fn name(&self) -> String {
        self.file.to_string()
    }
}

impl Resource for NfsGrace {
    const WHEN_EMPTY: &'static str = "";
    const COLUMNS: &'static [Column<Self>] = &[
        column("grace", |grace| if grace.active { "lasts" } else { "over" }.into()),
        column("seconds", |grace| Value::Number(grace.seconds)),
        column("reclaiming", |grace| Value::Number(grace.reclaiming)),
    ];

    fn name(&self) -> String {
        "grace".to_owned()
    }
}

const fn standing(standing: NfsClientStanding) -> &'static str {
    match standing {
        NfsClientStanding::Unconfirmed => "unconfirmed",
        NfsClientStanding::Active => "active",
        NfsClientStanding::Courteous => "courteous",
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::Client(ClientVerb::List { state }) => {
            let clients = client.long_list::<NfsClient>("/api/v1/nfs/clients").await?;
            match state {
                true => output.list_of(&clients, |column| STATE.contains(&column.name)),
                false => output.list(&clients),
            }
        }
        Verb::Client(ClientVerb::Expire { id }) => {
            output.confirm(&format!("revoke all opens and locks of NFS client {id}?"))?;
            client.delete(&format!("/api/v1/nfs/clients/{}", segment(id))).await?;
            output.report(&format!("opens and locks of NFS client {id} revoked"));
            Ok(())
        }
        Verb::Lock(LockVerb::List { share }) => {
            let path = format!("/api/v1/nfs/locks?share={}", segment(share));
            output.list(&client.long_list::<NfsLock>(&path).await?)
        }
        Verb::Grace(GraceVerb::Show) => output.show(&client.get::<NfsGrace>("/api/v1/nfs/grace").await?),
    }
}
