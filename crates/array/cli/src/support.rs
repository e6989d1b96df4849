//! `windlass support`: what the array knows of itself, for those who help.

use crate::client::Client;
use crate::error::CliError;
use crate::job;
use crate::output::Output;
use crate::private_file;
use api::{Bundle, BundleCreate, BundleNames, Job, List};
use std::path::PathBuf;

/// Verbs of `windlass support`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// Make a support bundle and download it
    #[command(
        after_help = "Examples:\n  windlass support bundle\n  windlass support bundle --replace-names --hours 72 --file bundle.tar.gz\n\nA bundle has no secrets. The array keeps three, for a day."
    )]
    Bundle {
        /// Put words in the place of names, initiators and addresses
        #[arg(long)]
        replace_names: bool,
        /// Hours of events, audit and history in it
        #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u16).range(1..=168))]
        hours: u16,
        /// File to write [default: windlass-ID.tar.gz]
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let Verb::Bundle { replace_names, hours, file } = verb;
    let names = if *replace_names { BundleNames::Replaced } else { BundleNames::Real };
    let create = BundleCreate { names, hours: Some(*hours) };
    let started = client.post::<Job>("/api/v1/support-bundles", &create).await?.body;
    let since = started.started;
    job::wait(started, None, client, output).await?;
    let bundles = client.get::<List<Bundle>>("/api/v1/support-bundles").await?.items;
    let made =
        bundles.into_iter().find(|bundle| bundle.names == names && bundle.created.as_second() >= since.as_second());
    let made = made.ok_or_else(|| CliError::failed("the bundle was removed meanwhile".to_owned()))?;
    let bytes = client.bytes(&format!("/api/v1/support-bundles/{}/download", made.id)).await?;
    let path = file.clone().unwrap_or_else(|| PathBuf::from(format!("windlass-{}.tar.gz", made.id)));
    private_file::write(&path, &bytes)?;
    output.report(&format!("support bundle written to {}", path.display()));
    Ok(())
}
