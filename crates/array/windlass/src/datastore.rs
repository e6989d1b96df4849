//! `windlass datastore`: clustered datastores on logical units of any array.

use crate::host_kit::{self, HostOptions, Shown};
use cli::Globals;
use std::path::PathBuf;
use std::process::ExitCode;
use virtual_disk::verbs::datastore;
use virtual_disk::{FormatOptions, Url};

/// Notes below the help of the noun.
pub(crate) const NOTES: &str = "A datastore takes a whole logical unit; several hosts use it at once. Its format is in docs/datastore-format.md, and compatible with nothing else.
Disks on it are made with windlass disk.

Exit status: 0 done, 1 failed, 2 usage, 3 not found, 4 in use or in the way, 5 denied, 6 no space, 7 unreachable, 8 timed out, 9 check found damage, 130 interrupted";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    host: HostOptions,
    #[command(subcommand)]
    verb: Verb,
}

fn parse_size(text: &str) -> Result<u64, String> {
    virtual_disk::parse_size(text).map_err(|error| error.to_string())
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Create a datastore on a whole logical unit
    #[command(
        after_help = "Examples:\n  windlass datastore format iscsi://192.0.2.7/iqn.2026-01.org.example:t/0 --name lab1\n  windlass datastore format iscsi://192.0.2.7/iqn.2026-01.org.example:t/0 --block-size 2M --destroy-data lab1\n\nA unit that holds data has to be named with --destroy-data: by its NAA identifier, or by the name of the datastore on it. No host may have it mounted."
    )]
    Format {
        #[arg(help = "iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN")]
        url: Url,
        /// Name of the datastore
        #[arg(long, value_name = "NAME", default_value = "datastore")]
        name: String,
        /// Block size: a power of two from 64K to 64M
        #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = parse_size)]
        block_size: u64,
        /// Maximum number of hosts that have it mounted at a time
        #[arg(long, value_name = "N", default_value_t = 64)]
        hosts: u32,
        /// Maximum number of disks
        #[arg(long, value_name = "N", default_value_t = 2048)]
        files: u32,
        /// Destroy the data on the logical unit with this name
        #[arg(long, value_name = "NAME")]
        destroy_data: Option<String>,
    },
    /// List the datastores on logical units
    #[command(
        after_help = "Example:\n  windlass datastore list iscsi://192.0.2.7/iqn.2026-01.org.example:t/0 iscsi://192.0.2.7/iqn.2026-01.org.example:t/1"
    )]
    List {
        #[arg(required = true, help = "iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN")]
        urls: Vec<Url>,
    },
    /// List the disks of a datastore
    #[command(after_help = "Example:\n  windlass datastore ls iscsi://192.0.2.7/iqn.2026-01.org.example:t/0")]
    Ls {
        #[arg(help = "iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN")]
        url: Url,
    },
    /// Verify a datastore and report damage
    #[command(
        after_help = "Examples:\n  windlass datastore check iscsi://192.0.2.7/iqn.2026-01.org.example:t/0\n  windlass datastore check iscsi://192.0.2.7/iqn.2026-01.org.example:t/0 --tidy -o json\n\nExit status: 0 no damage found, 9 damage found. Remains of dead hosts are listed, but are no damage: a host that needs their space removes them, and --tidy removes them at once.\nFor a datastore that no host changes meanwhile."
    )]
    Check {
        #[arg(help = "iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN")]
        url: Url,
        /// First clean up what dead hosts have left; takes about 20 s for a dead host
        #[arg(long)]
        tidy: bool,
    },
    /// List the hosts that have a datastore mounted, and whether they are alive
    #[command(after_help = "Example:\n  windlass datastore hosts iscsi://192.0.2.7/iqn.2026-01.org.example:t/0")]
    Hosts {
        #[arg(help = "iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN")]
        url: Url,
    },
    /// Unmap the free blocks of a datastore, so that the array can reuse their space
    #[command(after_help = "Example:\n  windlass datastore unmap iscsi://192.0.2.7/iqn.2026-01.org.example:t/0")]
    Unmap {
        #[arg(help = "iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN")]
        url: Url,
    },
    /// Run one host of a storm until SIGTERM (cargo xtask storm)
    #[command(
        hide = true,
        after_help = "Example:\n  windlass datastore storm-host iscsi://127.0.0.1/iqn.2026-01.org.example:t/0 --name h1 --journal h1.journal"
    )]
    StormHost {
        #[arg(help = "iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN")]
        url: Url,
        /// Name of the host; prefix of the names of its disks
        #[arg(long)]
        name: String,
        /// Journal of acknowledged operations
        #[arg(long)]
        journal: PathBuf,
        /// Seed of the host's operations
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Lock with SCSI reservations, regardless of the settings
        #[arg(long)]
        reservations: bool,
    },
    /// Compare the datastore after a storm with the journals of its hosts (cargo xtask storm)
    #[command(
        hide = true,
        after_help = "Example:\n  windlass datastore storm-verify iscsi://127.0.0.1/iqn.2026-01.org.example:t/0 h1.journal h2.journal"
    )]
    StormVerify {
        #[arg(help = "iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN")]
        url: Url,
        /// Journals of all hosts
        #[arg(required = true)]
        journals: Vec<PathBuf>,
        /// Lock with SCSI reservations, regardless of the settings
        #[arg(long)]
        reservations: bool,
    },
}

/// Runs `windlass datastore …`.
pub(crate) fn run(arguments: Arguments, globals: &Globals) -> ExitCode {
    let host = arguments.host;
    let mut options = host.kit();
    if let (Ok(options), Verb::StormHost { reservations: true, .. } | Verb::StormVerify { reservations: true, .. }) =
        (&mut options, &arguments.verb)
    {
        options.settings.hardware_accelerated_locking = false;
    }
    if let (Ok(options), Verb::StormHost { name, .. }) = (&mut options, &arguments.verb) {
        options.host = Some(name.clone());
    }
    host_kit::run(globals, options, true, async |kit| match &arguments.verb {
        Verb::Format { url, name, block_size, hosts, files, destroy_data } => {
            let options = FormatOptions {
                name: name.clone(),
                block_bytes: *block_size,
                hosts: *hosts,
                files: *files,
                force: false,
            };
            Ok(Shown::Done(datastore::format(kit, &host.complete(url)?, &options, destroy_data.as_deref()).await?))
        }
        Verb::List { urls } => {
            let urls = urls.iter().map(|url| host.complete(url)).collect::<Result<Vec<_>, _>>()?;
            Ok(Shown::List(datastore::list(kit, &urls, globals.bytes).await?))
        }
        Verb::Ls { url } => Ok(Shown::List(datastore::ls(kit, &host.complete(url)?, globals.bytes).await?)),
        Verb::Check { url, tidy } => {
            let url = host.complete(url)?;
            let checked = datastore::check(kit, &url, *tidy).await?;
            let status = if checked.is_clean() { 0 } else { host_kit::FINDINGS };
            Ok(Shown::Text(checked.words(&url), checked.json(&url), status))
        }
        Verb::Hosts { url } => Ok(Shown::List(datastore::hosts(kit, &host.complete(url)?).await?)),
        Verb::Unmap { url } => Ok(Shown::Done(datastore::unmap(kit, &host.complete(url)?).await?)),
        Verb::StormHost { url, name, journal, seed, .. } => {
            let (words, json, status) =
                virtual_disk::storm::host(kit, &host.complete(url)?, name, journal, *seed).await?;
            Ok(Shown::Text(words, json, status))
        }
        Verb::StormVerify { url, journals, .. } => {
            let (words, json, held) = virtual_disk::storm::verify(kit, &host.complete(url)?, journals).await?;
            Ok(Shown::Text(words, json, if held { 0 } else { host_kit::FINDINGS }))
        }
    })
}
