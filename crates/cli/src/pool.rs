//! `windlass pool`: space.

use crate::client::{Client, segment};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column};
use api::{List, Pool, PoolState};

/// Verbs of `windlass pool`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List pools
    #[command(after_help = "Example:\n  windlass pool list")]
    List,
    /// Verify a closed pool: checksums, reference counts, reachability. Needs no daemon and never changes the file
    #[command(
        after_help = "Examples:\n  windlass pool check /var/lib/windlass/p0.pool\n  windlass pool check p0.pool --quick -o json\n\nExit status: 0 clean, 9 findings, 4 in use by a daemon, 1 cannot be opened."
    )]
    Check {
        /// File or device
        file: std::path::PathBuf,
        /// Verify the map and the counts, but do not read the data
        #[arg(long)]
        quick: bool,
    },
    /// Show one pool and its space
    #[command(after_help = "Examples:\n  windlass pool show\n  windlass pool show p0 -o json")]
    Show {
        /// Name; the array's pool when left out
        name: Option<String>,
    },
    /// On a file or device
    #[command(flatten)]
    File(crate::pool_file::FileVerb),
}

impl Resource for Pool {
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |pool| pool.name.as_str().into()),
        column("state", |pool| state(pool.state).into()),
        column("size", |pool| Value::Bytes(pool.size_bytes)),
        column("used", |pool| Value::Bytes(pool.used_bytes)),
        column("free", |pool| Value::Bytes(pool.free_bytes)),
        column("metadata", |pool| Value::Bytes(pool.metadata_bytes)),
        column("provisioned", |pool| Value::Bytes(pool.provisioned_bytes)),
        column("mapped", |pool| Value::Bytes(pool.mapped_bytes)),
        column("volumes", |pool| Value::Number(pool.volumes)),
        column("snapshots", |pool| Value::Number(pool.snapshots)),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// The word for a state.
pub(crate) const fn state(state: PoolState) -> &'static str {
    match state {
        PoolState::Healthy => "healthy",
        PoolState::Full => "full",
        PoolState::Stopped => "stopped",
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::Check { .. } | Verb::File(_) => {
            Err(CliError::usage("this command works on a file, not through the array".to_owned()))
        }
        Verb::List => output.list(&client.get::<List<Pool>>("/api/v1/pools").await?.items),
        Verb::Show { name: Some(name) } => {
            output.show(&client.get::<Pool>(&format!("/api/v1/pools/{}", segment(name))).await?)
        }
        Verb::Show { name: None } => match client.get::<List<Pool>>("/api/v1/pools").await?.items.first() {
            Some(pool) => output.show(pool),
            None => Err(CliError::not_found("the array has no pool".to_owned(), "see its log")),
        },
    }
}
