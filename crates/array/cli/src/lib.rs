//! The command line: `windlass NOUN VERB`, one file per noun, over the administrative REST interface.
//!
//! Data goes to standard output, everything else to standard error. Tables are for people and may change; `-o json` and the exit
//! status are for programs and do not: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict or in use, 5 denied, 6 no space,
//! 7 unreachable, 8 timed out, 9 a check found something, 130 interrupted while waiting.
#![forbid(unsafe_code)]

mod access;
mod client;
mod console;
mod error;
mod event;
mod host;
mod host_group;
mod job;
mod offload;
mod output;
mod percent;
mod pool;
mod pool_file;
mod portal;
mod reservation;
mod secret;
mod session;
mod snapshot;
mod status;
mod tls;
mod volume;

pub use console::Console;
pub use output::Format;
pub use pool::{Verb as PoolVerb, is_path};
pub use pool_file::{FileVerb, Structure};

use client::Client;
use error::CliError;
use output::Output;
use std::path::PathBuf;

/// Where the array is and how to show what it says.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// The array: unix:PATH, or https://HOST:PORT with a token
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "WINDLASS_SERVER",
        hide_env_values = true,
        default_value = "unix:/run/windlass/windlass.sock"
    )]
    pub server: String,
    /// Token for https; better given as a file or in the variable
    #[arg(long, global = true, value_name = "TOKEN", env = "WINDLASS_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// File that holds the token
    #[arg(long, global = true, value_name = "FILE", env = "WINDLASS_TOKEN_FILE", hide_env_values = true)]
    pub token_file: Option<PathBuf>,
    /// Trust this certificate (PEM), such as STATE_DIR/tls/cert.pem, instead of the system's
    #[arg(long, global = true, value_name = "FILE", env = "WINDLASS_CA", hide_env_values = true)]
    pub ca: Option<PathBuf>,
    /// Do not check the array's certificate
    #[arg(long, global = true, conflicts_with = "ca")]
    pub insecure: bool,
    /// Wait this many seconds for an answer
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 70, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// How to show the result: table, wide (more columns), json (every field), csv, name
    #[arg(short, long, global = true, value_name = "FORMAT", value_enum, default_value_t = Format::Table)]
    #[arg(hide_possible_values = true)]
    pub output: Format,
    /// Show these columns (of table, wide and csv), in this order
    #[arg(long, global = true, value_name = "NAME,…", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Print no heading
    #[arg(long, global = true)]
    pub no_headers: bool,
    /// Show sizes as bytes
    #[arg(long, global = true)]
    pub bytes: bool,
    /// Confirm what cannot be undone: do not ask. Needed without a terminal
    #[arg(short, long, global = true)]
    pub yes: bool,
    /// Print errors and data only
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// The nouns that need a running array.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Noun {
    /// Show the array on one screen
    #[command(after_help = "Example:\n  windlass status")]
    Status,
    /// Pools and their space
    #[command(alias = "pools", subcommand)]
    Pool(pool::Verb),
    /// Volumes: block devices that hosts use
    #[command(alias = "volumes", subcommand)]
    Volume(volume::Verb),
    /// Snapshots: read-only points in time of volumes
    #[command(alias = "snapshots", subcommand)]
    Snapshot(snapshot::Verb),
    /// Hosts: machines, their initiator names and how they authenticate
    #[command(alias = "hosts", subcommand)]
    Host(host::Verb),
    /// Host groups: hosts that see the same volumes as the same LUNs
    #[command(alias = "host-groups", subcommand)]
    HostGroup(host_group::Verb),
    /// Access: which host sees which volume, as which LUN
    #[command(alias = "accesses", subcommand)]
    Access(access::Verb),
    /// Offload: what each primitive did, and what was refused and why
    #[command(alias = "offloads", subcommand)]
    Offload(offload::Verb),
    /// Jobs: work in the background
    #[command(alias = "jobs", subcommand)]
    Job(job::Verb),
    /// Events: changes, thresholds reached, errors
    #[command(alias = "events", subcommand)]
    Event(event::Verb),
    /// Alerts: conditions that need attention
    #[command(alias = "alerts", subcommand)]
    Alert(event::AlertVerb),
    /// Portals: where hosts connect
    #[command(alias = "portals", subcommand)]
    Portal(portal::Verb),
    /// Target port groups: portals with one access state (ALUA)
    #[command(alias = "portal-groups", subcommand)]
    PortalGroup(portal::GroupVerb),
    /// Reservations: which initiators have registered with a volume or reserved it
    #[command(alias = "reservations", subcommand)]
    Reservation(reservation::Verb),
    /// Sessions of hosts
    #[command(alias = "sessions", subcommand)]
    Session(session::Verb),
}

/// Runs one command and returns the exit status.
pub fn run(globals: &Globals, noun: &Noun, console: &mut Console<'_>) -> u8 {
    if globals.output == Format::Esxcli {
        console.error("error: -o esxcli is for windlass probe (code: usage)");
        return 2;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(execute(globals, noun, console)),
        Err(error) => Err(CliError::failed(format!("cannot start: {error}"))),
    };
    match result {
        Ok(()) => 0,
        Err(error) => {
            console.error(&error.to_string());
            error.exit_status()
        }
    }
}

async fn execute(globals: &Globals, noun: &Noun, console: &mut Console<'_>) -> Result<(), CliError> {
    let client = Client::new(globals)?;
    let mut output = Output::new(globals, console);
    match noun {
        Noun::Status => status::run(&client, &mut output).await,
        Noun::Pool(verb) => pool::run(verb, &client, &mut output).await,
        Noun::Volume(verb) => volume::run(verb, &client, &mut output).await,
        Noun::Snapshot(verb) => snapshot::run(verb, &client, &mut output).await,
        Noun::Host(verb) => host::run(verb, &client, &mut output).await,
        Noun::HostGroup(verb) => host_group::run(verb, &client, &mut output).await,
        Noun::Access(verb) => access::run(verb, &client, &mut output).await,
        Noun::Offload(verb) => offload::run(verb, &client, &mut output).await,
        Noun::Job(verb) => job::run(verb, &client, &mut output).await,
        Noun::Event(verb) => event::run(verb, &client, &mut output).await,
        Noun::Alert(verb) => event::run_alert(verb, &client, &mut output).await,
        Noun::Portal(verb) => portal::run(verb, &client, &mut output).await,
        Noun::PortalGroup(verb) => portal::run_group(verb, &client, &mut output).await,
        Noun::Reservation(verb) => reservation::run(verb, &client, &mut output).await,
        Noun::Session(verb) => session::run(verb, &client, &mut output).await,
    }
}
