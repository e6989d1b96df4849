//! Command line: `windlass NOUN VERB`, one file per noun, over the administrative REST interface.
//!
//! Data goes to standard output, everything else to standard error. Tables are for people and may
//! change. `-o json` and the exit status are for programs and are stable: 0 done, 1 failed, 2
//! usage, 3 not found, 4 conflict or in use, 5 denied, 6 no space, 7 unreachable, 8 timed out, 9 a
//! check found problems, 130 interrupted while waiting.
#![forbid(unsafe_code)]

mod access;
mod advice;
mod alert;
mod audit;
mod channel;
mod client;
mod config;
mod connect;
mod console;
mod doctor;
mod effect;
mod error;
mod event;
mod explain;
mod export;
mod file;
mod follow;
mod forecast;
mod host;
mod host_group;
mod job;
mod lab;
mod login;
mod names;
mod nfs;
mod offload;
mod output;
mod percent;
mod pool;
mod portal;
mod private_file;
mod profile;
mod qos;
mod reservation;
mod schedule;
mod secret;
mod selection;
mod server_events;
mod session;
mod setup;
mod share;
mod sign_in;
mod snapshot;
mod status;
mod support;
mod tls;
mod token;
mod top;
mod trash;
mod user;
mod volume;

pub use console::Console;
pub use lab::Verb as LabVerb;
pub use names::with_names;
pub use output::{Format, document};
pub use pool::{Verb as PoolVerb, is_path};

use client::Client;
use error::CliError;
use output::Output;
use std::path::PathBuf;

/// Options for reaching the array and for the output.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// The array: unix:PATH, or https://HOST:PORT with a token [default:
    /// unix:/run/windlass/windlass.sock or, without that file, unix:/var/lib/windlass/windlass.sock]
    #[arg(long, global = true, value_name = "URL", env = "WINDLASS_SERVER", hide_env_values = true)]
    pub server: Option<String>,
    /// Array that windlass login has kept, by name
    #[arg(long, global = true, value_name = "NAME", env = "WINDLASS_PROFILE", hide_env_values = true)]
    pub profile: Option<String>,
    /// Token for https; a file or the environment variable is safer
    #[arg(long, global = true, value_name = "TOKEN", env = "WINDLASS_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// File that contains the token
    #[arg(long, global = true, value_name = "FILE", env = "WINDLASS_TOKEN_FILE", hide_env_values = true)]
    pub token_file: Option<PathBuf>,
    /// Trust this certificate (PEM), such as STATE_DIR/tls/cert.pem, instead of those of the system
    #[arg(long, global = true, value_name = "FILE", env = "WINDLASS_CA", hide_env_values = true)]
    pub ca: Option<PathBuf>,
    /// Do not verify the array's certificate
    #[arg(long, global = true, conflicts_with = "ca")]
    pub insecure: bool,
    /// Wait at most this many seconds for an answer
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 70, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// Format of the result: table, wide (more columns), json (every field), yaml, csv, name
    #[arg(short, long, global = true, value_name = "FORMAT", value_enum, default_value_t = Format::Table)]
    #[arg(hide_possible_values = true)]
    pub output: Format,
    /// Show these columns (of table, wide and csv), in this order
    #[arg(long, global = true, value_name = "NAME,…", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Omit the heading
    #[arg(long, global = true)]
    pub no_headers: bool,
    /// Show sizes in bytes
    #[arg(long, global = true)]
    pub bytes: bool,
    /// Confirm irreversible changes without asking; required without a terminal
    #[arg(short, long, global = true)]
    pub yes: bool,
    /// Print only errors and data
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// Nouns that need a running array.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Noun {
    /// Show the status of the array
    #[command(after_help = "Example:\n  windlass status")]
    Status,
    /// Pools and their space
    #[command(alias = "pools", subcommand)]
    Pool(pool::Verb),
    /// Volumes: block devices that hosts use
    #[command(alias = "volumes", subcommand)]
    Volume(volume::Verb),
    /// Shares: files that hosts use over NFS
    #[command(alias = "shares", subcommand)]
    Share(share::Verb),
    /// Files of shares: clones, also from and to volumes, and their space
    #[command(alias = "files", subcommand)]
    File(file::Verb),
    /// Snapshots: read-only copies of volumes and shares at one instant
    #[command(alias = "snapshots", subcommand)]
    Snapshot(snapshot::Verb),
    /// Schedules: snapshots at set times, and rules that remove old ones
    #[command(alias = "schedules", subcommand)]
    Schedule(schedule::Verb),
    /// QoS policies: limits of volumes and hosts, and their shares
    #[command(alias = "qos-policy", subcommand)]
    Qos(qos::Verb),
    /// Trash: deleted volumes, shares and snapshots, which can be restored
    #[command(subcommand)]
    Trash(trash::Verb),
    /// Hosts: machines, their initiator names, addresses and authentication
    #[command(alias = "hosts", subcommand)]
    Host(host::Verb),
    /// Host groups: hosts that see the same volumes at the same LUNs
    #[command(alias = "host-groups", subcommand)]
    HostGroup(host_group::Verb),
    /// Access: which host sees which volume, at which LUN, and may use which share
    #[command(alias = "accesses", subcommand)]
    Access(access::Verb),
    /// Connect: print what an administrator enters on a host to use a volume or share, or follow the host
    #[command(
        after_help = "Examples:\n  windlass connect esxi esx01 --volume win-dc1 --adapter vmhba64\n  windlass connect linux db1 --volume data -o sh\n  windlass connect linux db1 --volume data --watch\n  windlass connect linux db1 --volume data --undo\n  windlass connect linux pve1 --share vms --address 192.0.2.7:12049 --directory /srv/vms\n\nPlaceholders in capitals stand for secrets, which the array does not show.\nExit status with --watch: 0 when the host can use the volume, 9 when something is missing"
    )]
    Connect(connect::Arguments),
    /// Offload: statistics of each primitive, and refused commands with their reasons
    #[command(alias = "offloads", subcommand)]
    Offload(offload::Verb),
    /// Jobs: background work
    #[command(alias = "jobs", subcommand)]
    Job(job::Verb),
    /// Events: changes, thresholds reached, errors
    #[command(alias = "events", subcommand)]
    Event(event::Verb),
    /// Alerts: conditions that need attention
    #[command(alias = "alerts", subcommand)]
    Alert(alert::Verb),
    /// Channels: where alerts are sent, by e-mail, webhook or syslog
    #[command(alias = "channels", subcommand)]
    Channel(channel::Verb),
    /// Portals: the addresses that hosts connect to
    #[command(alias = "portals", subcommand)]
    Portal(portal::Verb),
    /// Target port groups: portals with one access state (ALUA)
    #[command(alias = "portal-groups", subcommand)]
    PortalGroup(portal::GroupVerb),
    /// Reservations: the initiators that are registered with a volume or have reserved it
    #[command(alias = "reservations", subcommand)]
    Reservation(reservation::Verb),
    /// Sessions of hosts
    #[command(alias = "sessions", subcommand)]
    Session(session::Verb),
    /// NFS: clients, locks, and the grace period after a restart
    #[command(subcommand)]
    Nfs(nfs::Verb),
    /// Users: people with a name, a password and a role
    #[command(alias = "users", subcommand)]
    User(user::Verb),
    /// Tokens: the credentials of programs
    #[command(alias = "tokens", subcommand)]
    Token(token::Verb),
    /// Sign-ins of browsers
    #[command(alias = "sign-ins", subcommand)]
    SignIn(sign_in::Verb),
    /// Audit: who changed what
    #[command(subcommand)]
    Audit(audit::Verb),
    /// Configuration: export, plan and apply it as a document
    #[command(subcommand)]
    Config(config::Verb),
    /// Support: what the array knows of itself, in one file
    #[command(subcommand)]
    Support(support::Verb),
    /// Show what array and hosts do now, once a second, on the whole terminal
    #[command(
        after_help = "Examples:\n  windlass top\n  windlass top hosts\n  windlass top --once\n  windlass top --once -o json\n\nKeys: q ends it, Tab changes the view, s and r the order, / filters names, p pauses"
    )]
    Top(top::Arguments),
    /// Examine the array and its machine: what should be mended, and how
    #[command(
        after_help = "Examples:\n  windlass doctor\n  windlass doctor -o json\n\nExit status: 0 when no check failed, 9 when one failed; warnings do not count"
    )]
    Doctor,
    /// Explain a code: of an error, a refusal, an alert, an event, an exit status, or sense data
    #[command(
        after_help = "Examples:\n  windlass explain not-granted\n  windlass explain 05/26/00\n  windlass explain 0x5 0x26 0x0\n  windlass explain --list alert"
    )]
    Explain(explain::Arguments),
    /// Set-up: the first administrator
    #[command(subcommand)]
    Setup(setup::Verb),
    /// Keep address, token and certificate of an array, for later commands
    #[command(
        after_help = "Examples:\n  windlass login https://array.example.org:8443\n  windlass login https://array.example.org:8443 --profile lab --token-file admin.token --fingerprint SHA256"
    )]
    Login(login::Arguments),
}

/// Runs one command and returns the exit status.
pub fn run(globals: &Globals, noun: &Noun, console: &mut Console<'_>) -> u8 {
    if globals.output == Format::Esxcli {
        console.error("error: -o esxcli is for windlass probe (code: usage)");
        return 2;
    }
    if globals.output == Format::Sh && !matches!(noun, Noun::Connect(_)) {
        console.error("error: -o sh is for windlass connect (code: usage)");
        return 2;
    }
    let result = started().and_then(|runtime| runtime.block_on(execute(globals, noun, console)));
    ended(globals, result, console)
}

/// Runs a verb of `windlass lab array`, whose noun has other verbs that need no array, and returns the exit status.
pub fn run_lab(globals: &Globals, verb: &LabVerb, console: &mut Console<'_>) -> u8 {
    let result = started().and_then(|runtime| {
        let client = Client::new(globals)?;
        runtime.block_on(lab::run(verb, &client, &mut Output::new(globals, console)))
    });
    ended(globals, result, console)
}

fn started() -> Result<tokio::runtime::Runtime, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CliError::failed(format!("cannot start: {error}")))
}

/// Exit status of a result, whose error is reported.
fn ended(globals: &Globals, result: Result<(), CliError>, console: &mut Console<'_>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(error) => {
            let text = match globals.output {
                format if format.is_document() => document(format, &error.document()),
                _ => Ok(error.to_string()),
            };
            console.error(text.unwrap_or_else(|_| error.to_string()).trim_end());
            error.exit_status()
        }
    }
}

async fn execute(globals: &Globals, noun: &Noun, console: &mut Console<'_>) -> Result<(), CliError> {
    let mut output = Output::new(globals, console);
    if let Noun::Login(arguments) = noun {
        return login::run(arguments, globals, &mut output).await;
    }
    if let Noun::Explain(arguments) = noun {
        return explain::run(arguments, &mut output);
    }
    let client = Client::new(globals)?;
    match noun {
        // They need no array.
        Noun::Login(_) | Noun::Explain(_) => Ok(()),
        Noun::Top(arguments) => top::run(arguments, &client, &mut output).await,
        Noun::Doctor => doctor::run(&client, &mut output).await,
        Noun::Status => status::run(&client, &mut output).await,
        Noun::Pool(verb) => pool::run(verb, &client, &mut output).await,
        Noun::Volume(verb) => volume::run(verb, &client, &mut output).await,
        Noun::Share(verb) => share::run(verb, &client, &mut output).await,
        Noun::File(verb) => file::run(verb, &client, &mut output).await,
        Noun::Snapshot(verb) => snapshot::run(verb, &client, &mut output).await,
        Noun::Schedule(verb) => schedule::run(verb, &client, &mut output).await,
        Noun::Qos(verb) => qos::run(verb, &client, &mut output).await,
        Noun::Trash(verb) => trash::run(verb, &client, &mut output).await,
        Noun::Host(verb) => host::run(verb, &client, &mut output).await,
        Noun::HostGroup(verb) => host_group::run(verb, &client, &mut output).await,
        Noun::Access(verb) => access::run(verb, &client, &mut output).await,
        Noun::Connect(arguments) => connect::run(arguments, &client, &mut output).await,
        Noun::Offload(verb) => offload::run(verb, &client, &mut output).await,
        Noun::Job(verb) => job::run(verb, &client, &mut output).await,
        Noun::Event(verb) => event::run(verb, &client, &mut output).await,
        Noun::Alert(verb) => alert::run(verb, &client, &mut output).await,
        Noun::Channel(verb) => channel::run(verb, &client, &mut output).await,
        Noun::Portal(verb) => portal::run(verb, &client, &mut output).await,
        Noun::PortalGroup(verb) => portal::run_group(verb, &client, &mut output).await,
        Noun::Reservation(verb) => reservation::run(verb, &client, &mut output).await,
        Noun::Session(verb) => session::run(verb, &client, &mut output).await,
        Noun::Nfs(verb) => nfs::run(verb, &client, &mut output).await,
        Noun::User(verb) => user::run(verb, &client, &mut output).await,
        Noun::Token(verb) => token::run(verb, &client, &mut output).await,
        Noun::SignIn(verb) => sign_in::run(verb, &client, &mut output).await,
        Noun::Audit(verb) => audit::run(verb, &client, &mut output).await,
        Noun::Support(verb) => support::run(verb, &client, &mut output).await,
        Noun::Config(verb) => config::run(verb, &client, &mut output).await,
        Noun::Setup(verb) => setup::run(verb, &client, &mut output).await,
    }
}
