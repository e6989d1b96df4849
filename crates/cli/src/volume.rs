//! `windlass volume`: block devices that hosts use.

use crate::client::{Client, segment};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, wide};
use api::size::SizeError;
use api::{List, Pool, Volume, VolumeCreate, VolumeSet};

/// Verbs of `windlass volume`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List volumes
    #[command(after_help = "Examples:\n  windlass volume list\n  windlass volume list -o json")]
    List,
    /// Show one volume
    #[command(after_help = "Example:\n  windlass volume show win-dc1")]
    Show {
        /// Name or id
        name: String,
    },
    /// Make an empty volume
    #[command(after_help = "Example:\n  windlass volume create win-dc1 --size 100G")]
    Create {
        /// Name: letters, digits, '.', '_' and '-'
        name: String,
        /// Size, such as 100G or 1.5TiB; a multiple of 512 up to 16 TiB
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        size: u64,
        /// Acknowledge writes before they are durable
        #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true, default_value_t = Switch::Off)]
        write_cache: Switch,
    },
    /// Make a volume that shares the content of another volume or of a snapshot; takes no time and no space
    #[command(
        after_help = "Examples:\n  windlass volume clone tmpl-win win-dc2\n  windlass volume clone win-dc1@monday restored"
    )]
    Clone {
        /// Volume, or snapshot as VOLUME@SNAPSHOT
        source: String,
        /// Name of the new volume
        name: String,
        /// Size, when it is to be larger than the source
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        size: Option<u64>,
        /// Acknowledge writes before they are durable
        #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true, default_value_t = Switch::Off)]
        write_cache: Switch,
    },
    /// Enlarge a volume
    #[command(after_help = "Example:\n  windlass volume grow win-dc1 --size 200G")]
    Grow {
        /// Name or id
        name: String,
        /// New size
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        size: u64,
    },
    /// Rename a volume or switch its write cache
    #[command(after_help = "Example:\n  windlass volume set win-dc1 --write-cache on")]
    Set(Set),
    /// Delete volumes that nobody uses
    #[command(
        after_help = "Examples:\n  windlass volume delete win-dc1\n  windlass volume delete scratch --with-snapshots --yes"
    )]
    Delete {
        /// Names or ids
        #[arg(required = true)]
        names: Vec<String>,
        /// Delete their snapshots too
        #[arg(long)]
        with_snapshots: bool,
    },
}

/// What `volume set` can change.
#[derive(Clone, Debug, clap::Args)]
pub struct Set {
    /// Name or id
    name: String,
    /// New name
    #[arg(long = "name", value_name = "NEW-NAME")]
    new_name: Option<String>,
    /// Acknowledge writes before they are durable; switching it off makes everything durable first
    #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true)]
    write_cache: Option<Switch>,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    /// On
    On,
    /// Off
    Off,
}

impl Resource for Volume {
    const WHEN_EMPTY: &'static str = "no volumes yet; make one:  windlass volume create NAME --size 100G";
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |volume| volume.name.as_str().into()),
        column("size", |volume| Value::Bytes(volume.size_bytes)),
        column("mapped", |volume| Value::Bytes(volume.mapped_bytes)),
        column("unique", |volume| volume.unique_bytes.map(Value::Bytes).into()),
        column("snaps", |volume| Value::Number(volume.snapshots)),
        column("thin", |volume| thin(volume).into()),
        column("luns", |volume| luns(volume).into()),
        wide("url", |volume| urls(volume).into()),
        wide("cache", |volume| cache(volume).into()),
        wide("source", |volume| {
            volume.source.as_ref().map(|source| source.name.clone().unwrap_or_else(|| "(deleted)".to_owned())).into()
        }),
        wide("naa", |volume| volume.naa.as_str().into()),
        wide("serial", |volume| volume.serial.as_str().into()),
        wide("created", |volume| format!("{:.0}", volume.created).into()),
        wide("id", |volume| volume.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// The word for the state of its write cache.
const fn cache(volume: &Volume) -> &'static str {
    if volume.write_cache { "on" } else { "off" }
}

/// How much of the size was never written, in percent.
fn thin(volume: &Volume) -> String {
    let unmapped = u128::from(volume.size_bytes.saturating_sub(volume.mapped_bytes));
    match (unmapped * 100).checked_div(u128::from(volume.size_bytes)) {
        Some(percent) => format!("{percent}%"),
        None => "–".to_owned(),
    }
}

/// `HOST:LUN` of every grant.
fn luns(volume: &Volume) -> Option<String> {
    let all: Vec<String> = volume.luns.iter().map(|unit| format!("{}:{}", unit.host, unit.lun)).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// What initiators connect to, once for each grant.
fn urls(volume: &Volume) -> Option<String> {
    let all: Vec<&str> = volume.luns.iter().map(|unit| unit.iscsi_url.as_str()).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

fn parse_size(text: &str) -> Result<u64, SizeError> {
    api::size::parse(text)
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List => list(client, output).await,
        Verb::Show { name } => output.show(&client.get::<Volume>(&path(name)).await?),
        Verb::Create { name, size, write_cache } => {
            let write_cache = *write_cache == Switch::On;
            let create = VolumeCreate { name: name.clone(), size_bytes: Some(*size), source: None, write_cache };
            make(&create, client, output).await
        }
        Verb::Clone { source, name, size, write_cache } => {
            let (source, write_cache) = (Some(source.clone()), *write_cache == Switch::On);
            let create = VolumeCreate { name: name.clone(), size_bytes: *size, source, write_cache };
            make(&create, client, output).await
        }
        Verb::Grow { name, size } => {
            let set = VolumeSet { size_bytes: Some(*size), ..VolumeSet::default() };
            output.made("volume", &client.patch::<Volume>(&path(name), &set).await?, true)
        }
        Verb::Set(Set { new_name: None, write_cache: None, .. }) => {
            Err(CliError::usage("nothing to change: give --name or --write-cache".to_owned()))
        }
        Verb::Set(Set { name, new_name, write_cache }) => {
            let write_cache = write_cache.map(|switch| switch == Switch::On);
            let set = VolumeSet { name: new_name.clone(), write_cache, size_bytes: None };
            let volume = client.patch::<Volume>(&path(name), &set).await?;
            output.made("volume", &volume, true)?;
            if write_cache.is_some() {
                output.say(&format!("write cache of {} is {}", volume.name, cache(&volume)));
            }
            Ok(())
        }
        Verb::Delete { names, with_snapshots } => {
            let snapshots = if *with_snapshots { " and all its snapshots" } else { "" };
            for name in names {
                output.confirm(&format!("delete volume {name}{snapshots}?"))?;
                client.delete(&format!("{}?with_snapshots={with_snapshots}", path(name))).await?;
                output.say(&format!("volume {name} deleted"));
            }
            Ok(())
        }
    }
}

async fn list(client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let volumes = client.get::<List<Volume>>("/api/v1/volumes").await?.items;
    output.list(&volumes)?;
    if output.is_for_people() {
        let pools = client.get::<List<Pool>>("/api/v1/pools").await?.items;
        let summary = summary(&volumes, &pools);
        output.say(&summary);
    }
    Ok(())
}

/// The line under the list.
fn summary(volumes: &[Volume], pools: &[Pool]) -> String {
    let sum = |value: fn(&Pool) -> u64| pools.iter().map(value).fold(0, u64::saturating_add);
    let (size, used, provisioned) =
        (sum(|pool| pool.size_bytes), sum(|pool| pool.used_bytes), sum(|pool| pool.provisioned_bytes));
    let hundredths = |part: u64| (u128::from(part) * 100).checked_div(u128::from(size)).unwrap_or(0);
    let over_commit = hundredths(provisioned);
    format!(
        "{} volume{} · provisioned {} · pool used {} of {} ({}%) · over-commit {}.{:02}",
        volumes.len(),
        if volumes.len() == 1 { "" } else { "s" },
        api::size::format(provisioned),
        api::size::format(used),
        api::size::format(size),
        hundredths(used),
        over_commit / 100,
        over_commit % 100,
    )
}

async fn make(create: &VolumeCreate, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let answer = client.post::<Volume>("/api/v1/volumes", create).await?;
    output.made("volume", &answer.body, answer.created)
}

fn path(name: &str) -> String {
    format!("/api/v1/volumes/{}", segment(name))
}
