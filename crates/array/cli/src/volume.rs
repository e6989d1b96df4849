//! `windlass volume`: block devices that hosts use.

use crate::client::{Client, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Format, Output, Resource, Value, column, wide};
use crate::selection::Selection;
use crate::{job, percent, pool, qos, trash};
use api::size::SizeError;
use api::{
    Job, Pool, Reserve, Snapshot, TrashKind, Volume, VolumeCreate, VolumeReshare, VolumeRollback, VolumeSet,
    VolumeSpace,
};
use hyper::Method;
use std::collections::BTreeMap;

/// Verbs of `windlass volume`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List volumes
    #[command(
        after_help = "Examples:\n  windlass volume list\n  windlass volume list -o json\n  windlass volume list --sort -mapped_bytes --limit 20\n  windlass volume list --filter host=esx01 --filter has=snapshots"
    )]
    List(Selection),
    /// Show one volume
    #[command(after_help = "Example:\n  windlass volume show win-dc1")]
    Show {
        /// Name or id
        name: String,
    },
    /// Create an empty volume
    #[command(
        after_help = "Examples:\n  windlass volume create win-dc1 --size 100G\n  windlass volume create db --size 100G --reserve thick\n  windlass volume create db --size 100G --reserve thick --overwrite-reserve 20\n  windlass volume create db --size 100G --pool p0\n\nRepeating the command with the same parameters succeeds and changes nothing: the volume keeps the content that it has by then."
    )]
    Create {
        /// Name: letters, digits, '.', '_' and '-'
        name: String,
        /// Size, such as 100G or 1.5TiB; a multiple of 512 up to 256 TiB
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        size: u64,
        /// Pool of the volume; default: the array's default pool
        #[arg(long, value_name = "NAME")]
        pool: Option<String>,
        /// Acknowledge writes before they are durable
        #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true, default_value_t = Switch::Off)]
        write_cache: Switch,
        /// Space
        #[command(flatten)]
        space: Space,
    },
    /// Create a volume that shares the content of a volume or snapshot; takes no time and no space
    #[command(
        after_help = "Examples:\n  windlass volume clone tmpl-win win-dc2\n  windlass volume clone win-dc1@monday restored\n\nA name that exists already is refused with status 4, also with the same parameters: that volume has older content."
    )]
    Clone {
        /// Volume, or snapshot as VOLUME@SNAPSHOT
        source: String,
        /// Name of the new volume
        name: String,
        /// Size; default: that of the source, which is also the minimum
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        size: Option<u64>,
        /// Acknowledge writes before they are durable
        #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true, default_value_t = Switch::Off)]
        write_cache: Switch,
        /// Space
        #[command(flatten)]
        space: Space,
    },
    /// Enlarge a volume
    #[command(
        after_help = "Examples:\n  windlass volume grow win-dc1 --size 200G\n  windlass volume grow win-dc1 --size 200G --dry-run"
    )]
    Grow {
        /// Name or id
        name: String,
        /// New size
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        size: u64,
        #[command(flatten)]
        rehearsal: DryRun,
    },
    /// Change the name and settings of a volume
    #[command(
        after_help = "Examples:\n  windlass volume set win-dc1 --write-cache on\n  windlass volume set win-dc1 --reserve thick --overwrite-reserve 50\n  windlass volume set win-dc1 --warn 75% --critical 90%\n  windlass volume set win-dc1 --critical none\n  windlass volume set win-dc1 --label tier=gold"
    )]
    Set(Set),
    /// Return a volume to the content and size of one of its snapshots
    #[command(
        after_help = "Examples:\n  windlass volume rollback win-dc1 monday\n  windlass volume rollback win-dc1 monday --keep before-rollback\n\nRefused while sessions see the volume: hosts would go on with what they have cached."
    )]
    Rollback {
        /// Name or id
        name: String,
        /// Name of one of the volume's snapshots
        snapshot: String,
        /// First create a snapshot with this name of the present content
        #[arg(long, value_name = "NAME")]
        keep: Option<String>,
        /// Roll back even while sessions see the volume; hosts are notified that its capacity may
        /// have changed
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        rehearsal: DryRun,
    },
    /// Free stored blocks of zeros, in the background; also shows the space that hosts have
    /// unmapped
    #[command(
        group = clap::ArgGroup::new("which").required(true).args(["name", "all"]),
        after_help = "Examples:\n  windlass volume reclaim win-dc1\n  windlass volume reclaim --all --share 50 --no-wait\n  windlass volume reclaim win-dc1 --report\n\nCtrl-C leaves the job running."
    )]
    Reclaim {
        /// Name or id
        name: Option<String>,
        /// All volumes
        #[arg(long)]
        all: bool,
        /// Only show the space that hosts have unmapped
        #[arg(long, conflicts_with = "all")]
        report: bool,
        /// How
        #[command(flatten)]
        start: job::Start,
        #[command(flatten)]
        rehearsal: DryRun,
    },
    /// Share blocks that a host has copied with the original again, in the background
    ///
    /// A host that copies without offload stores each block twice. The job compares the content of VOLUME with that of
    /// the other volume or snapshot at the same places, and frees the second copy of what is equal. Content does not
    /// change. Snapshots of VOLUME keep their own blocks: what they have in common with the old copy is freed when they
    /// are deleted.
    #[command(
        after_help = "Examples:\n  windlass volume reshare web2 --with web1 --dry-run\n  windlass volume reshare web2 --with web1@golden --share 50 --no-wait\n  windlass volume reshare vmfs1 --with vmfs1 --offset=-40G\n\nWith --offset, a block of VOLUME is compared with the one that far behind its place, or before it: a copy at\n50 GiB of an image at 10 GiB has the offset -40G. Ctrl-C leaves the job running."
    )]
    Reshare(Reshare),
    /// Delete volumes that are not in use
    #[command(
        after_help = "Examples:\n  windlass volume delete win-dc1\n  windlass volume delete scratch --with-snapshots --yes\n  windlass volume delete scratch --now --yes\n\nThe trash keeps a deleted volume for the time of  windlass pool set --trash:  windlass volume restore win-dc1"
    )]
    Delete {
        /// Names or ids
        #[arg(required = true)]
        names: Vec<String>,
        /// How
        #[command(flatten)]
        how: Deletion,
    },
    /// Restore a volume from the trash, with its identity and the snapshots that were deleted with it
    #[command(
        after_help = "Examples:\n  windlass volume restore win-dc1\n  windlass volume restore win-dc1 --name win-dc1-old --grants"
    )]
    Restore(trash::Restore),
}

/// Options of a deletion.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Deletion {
    /// Delete their snapshots too
    #[arg(long)]
    with_snapshots: bool,
    /// Revoke their grants too; the trash remembers them
    #[arg(long)]
    revoke: bool,
    /// Delete for good, instead of to the trash; for admins
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    rehearsal: DryRun,
}

/// Arguments of `volume reshare`.
#[derive(Clone, Debug, clap::Args)]
pub struct Reshare {
    /// Volume whose blocks are given back, by name or id
    #[arg(value_name = "VOLUME")]
    name: String,
    /// Other volume, or snapshot as VOLUME@SNAPSHOT, whose blocks are shared
    #[arg(long, value_name = "OTHER[@SNAPSHOT]")]
    with: String,
    /// Bytes from a place of VOLUME to the place of the other one with the same content, a multiple of 4 KiB;
    /// negative if that is nearer to the start
    #[arg(long, value_name = "BYTES", default_value = "0", allow_hyphen_values = true, value_parser = parse_offset)]
    offset: i64,
    /// Only compare, and say how much space it would give back
    #[arg(long)]
    dry_run: bool,
    /// How
    #[command(flatten)]
    start: job::Start,
}

/// Settings that `volume set` changes.
#[derive(Clone, Debug, clap::Args)]
pub struct Set {
    /// Name or id
    name: String,
    /// New name
    #[arg(long = "name", value_name = "NEW-NAME")]
    new_name: Option<String>,
    /// Acknowledge writes before they are durable; switching it off first makes all acknowledged
    /// writes durable
    #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true)]
    write_cache: Option<Switch>,
    /// Space
    #[command(flatten)]
    space: Space,
    /// Set a label, by which schedules find their members; KEY= removes it. May be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_label)]
    label: Vec<(String, Option<String>)>,
    /// Raise an event when this percentage of the size is mapped
    #[arg(long, value_name = "PERCENT|off", value_parser = percent::parse_or_off)]
    warn: Option<u8>,
    /// Raise a critical event when this percentage of the size is mapped; above --warn
    #[arg(long, value_name = "PERCENT|off", value_parser = percent::parse_or_off)]
    critical: Option<u8>,
    #[command(flatten)]
    rehearsal: DryRun,
}

/// Options for the space of a volume.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Space {
    /// thick: space is kept free, so that writes never fail for lack of it; thin: no space is kept
    /// free
    #[arg(long, value_name = "thick|thin", value_enum, hide_possible_values = true)]
    reserve: Option<ReserveKind>,
    /// Percentage of the blocks shared with snapshots and clones for which a thick volume keeps
    /// space free, so that they can be overwritten [default: 100]
    #[arg(long, value_name = "PERCENT", value_parser = percent::parse_reserve)]
    overwrite_reserve: Option<u8>,
    /// Do not store blocks of zeros that hosts write [default: on]
    #[arg(long, value_name = "on|off", value_enum, hide_possible_values = true)]
    zero_detection: Option<Switch>,
}

/// Reserve of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ReserveKind {
    /// Writes never fail for lack of space
    Thick,
    /// Writes fail if the pool is full
    Thin,
}

impl Space {
    const fn is_empty(&self) -> bool {
        matches!(self, Self { reserve: None, overwrite_reserve: None, zero_detection: None })
    }

    fn reserve(&self) -> Option<Reserve> {
        self.reserve.map(|reserve| match reserve {
            ReserveKind::Thick => Reserve::Thick,
            ReserveKind::Thin => Reserve::Thin,
        })
    }

    fn zero_detection(&self) -> Option<bool> {
        self.zero_detection.map(|switch| switch == Switch::On)
    }
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
        column("snaps", |volume| volume.snapshot_bytes.map(Value::Bytes).into()),
        column("thin", |volume| thin(volume).into()),
        column("luns", |volume| luns(volume).into()),
        wide("pool", |volume| volume.pool.as_str().into()),
        wide("url", |volume| urls(volume).into()),
        wide("shared", |volume| volume.shared_bytes.map(Value::Bytes).into()),
        wide("snapshots", |volume| Value::Number(volume.snapshots)),
        wide("reserve", |volume| reserve(volume).into()),
        wide("promised", |volume| Value::Bytes(volume.promised_bytes)),
        wide("zeros", |volume| if volume.zero_detection { "detected" } else { "stored" }.into()),
        wide("warn", |volume| volume.warn_percent.map(|percent| format!("{percent}%")).into()),
        wide("critical", |volume| volume.critical_percent.map(|percent| format!("{percent}%")).into()),
        wide("cache", |volume| cache(volume).into()),
        wide("source", |volume| {
            volume.source.as_ref().map(|source| source.name.clone().unwrap_or_else(|| "(deleted)".to_owned())).into()
        }),
        wide("policy", |volume| volume.qos_policy.clone().into()),
        wide("limits", |volume| qos::limits(volume.qos_policy.as_deref(), volume.qos_held.as_ref()).into()),
        wide("labels", |volume| labels(volume).into()),
        wide("naa", |volume| volume.naa.as_str().into()),
        wide("serial", |volume| volume.serial.as_str().into()),
        wide("created", |volume| format!("{:.0}", volume.created).into()),
        wide("id", |volume| volume.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// `KEY=VALUE` of every label.
fn labels(volume: &Volume) -> Option<String> {
    let all: Vec<String> = volume.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// State of the write cache.
const fn cache(volume: &Volume) -> &'static str {
    if volume.write_cache { "on" } else { "off" }
}

/// `thin`, `thick`, or `thick, 20% of what is shared`.
fn reserve(volume: &Volume) -> String {
    match (volume.reserve, volume.overwrite_reserve_percent) {
        (Reserve::Thin, _) => "thin".to_owned(),
        (Reserve::Thick, None | Some(100)) => "thick".to_owned(),
        (Reserve::Thick, Some(percent)) => format!("thick, {percent}% of what is shared"),
    }
}

/// Percentage of the size that takes no space. A thick volume takes its whole size, mapped or promised.
fn thin(volume: &Volume) -> Option<String> {
    let unmapped = u128::from(volume.size_bytes.saturating_sub(volume.mapped_bytes));
    let percent = (unmapped * 100).checked_div(u128::from(volume.size_bytes))?;
    (volume.reserve == Reserve::Thin).then(|| format!("{percent}%"))
}

/// `HOST:LUN` of every grant.
fn luns(volume: &Volume) -> Option<String> {
    let all: Vec<String> = volume.luns.iter().map(|unit| format!("{}:{}", unit.host, unit.lun)).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// URLs for initiators, one for each grant.
fn urls(volume: &Volume) -> Option<String> {
    let all: Vec<&str> = volume.luns.iter().map(|unit| unit.iscsi_url.as_str()).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// Reads `KEY=VALUE`, or `KEY=`.
fn parse_label(text: &str) -> Result<(String, Option<String>), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is not KEY=VALUE"))?;
    Ok((key.to_owned(), (!value.is_empty()).then(|| value.to_owned())))
}

/// Size that may be negative.
fn parse_offset(text: &str) -> Result<i64, String> {
    let (sign, size) = text.strip_prefix('-').map_or((1, text), |size| (-1, size));
    let bytes = parse_size(size).map_err(|error| error.to_string())?;
    i64::try_from(bytes).map(|bytes| sign * bytes).map_err(|_| "an offset is at most 8 EiB".to_owned())
}

fn parse_size(text: &str) -> Result<u64, SizeError> {
    api::size::parse(text)
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List(selection) => list(selection, client, output).await,
        Verb::Show { name } => output.show(&client.get::<Volume>(&path(name)).await?),
        Verb::Create { name, size, pool, write_cache, space } => {
            let create = VolumeCreate { pool: pool.clone(), ..new(name, Some(*size), None, *write_cache, space) };
            make(&create, client, output).await
        }
        Verb::Clone { source, name, size, write_cache, space } => {
            let create = new(name, *size, Some(source), *write_cache, space);
            make(&create, client, output).await
        }
        Verb::Grow { name, size, rehearsal } => {
            let set = VolumeSet { size_bytes: Some(*size), ..VolumeSet::default() };
            if rehearsal.dry_run {
                return change(name, &set, client, output).await;
            }
            let volume = client.patch::<Volume>(&path(name), &set).await?;
            output.made("volume", &volume, true)?;
            output.warnings(&volume.warnings);
            Ok(())
        }
        Verb::Set(Set { new_name: None, write_cache: None, warn: None, critical: None, space, label, .. })
            if space.is_empty() && label.is_empty() =>
        {
            Err(CliError::usage(
                "nothing to change: give --name, --write-cache, --reserve, --overwrite-reserve, --zero-detection, --label, --warn or --critical"
                    .to_owned(),
            ))
        }
        Verb::Set(changes) => set(changes, client, output).await,
        Verb::Rollback { name, snapshot, keep, force, rehearsal } => {
            rollback(name, snapshot, keep.as_ref(), (*force, *rehearsal), client, output).await
        }
        Verb::Reclaim { name: Some(name), report: true, .. } => {
            let space = client.get::<VolumeSpace>(&format!("{}/space", path(name))).await?;
            match output.format() {
                Format::Json | Format::Yaml => output.document(&space),
                _ => job::unmapped(&space, output),
            }
        }
        Verb::Reclaim { name, start, rehearsal, .. } => {
            let (what, path) = match name {
                Some(name) => (format!("reclaim zeros of volume {name}"), format!("{}/reclaim", path(name))),
                None => {
                    let pool = pool::only(client).await?.name;
                    ("reclaim zeros of all volumes".to_owned(), format!("/api/v1/pools/{}/reclaim", segment(&pool)))
                }
            };
            if rehearsal.dry_run {
                return effect::one(&what, (Method::POST, &path, Some(&start.body())), client, output).await;
            }
            job::start(&path, start, client, output).await
        }
        Verb::Reshare(options) => reshare(options, client, output).await,
        Verb::Delete { names, how } => delete(names, *how, client, output).await,
        Verb::Restore(options) => trash::restore(options, Some(TrashKind::Volume), client, output).await,
    }
}

async fn reshare(options: &Reshare, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let Reshare { name, with, offset, dry_run, start } = options;
    let body = VolumeReshare {
        with: with.clone(),
        offset_bytes: *offset,
        compare_only: *dry_run,
        share_percent: start.body().share_percent,
    };
    let job = client.post::<Job>(&format!("{}/reshare", path(name)), &body).await?.body;
    job::started(job, start, None, client, output).await
}

/// Shows what a change of a volume would do.
async fn change(name: &str, set: &VolumeSet, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    effect::one(&format!("change volume {name}"), (Method::PATCH, &path(name), Some(set)), client, output).await
}

async fn set(set: &Set, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let Set { name, new_name, write_cache, space, label, warn, critical, rehearsal } = set;
    let write_cache = write_cache.map(|switch| switch == Switch::On);
    let set = VolumeSet {
        name: new_name.clone(),
        write_cache,
        size_bytes: None,
        reserve: space.reserve(),
        overwrite_reserve_percent: space.overwrite_reserve,
        zero_detection: space.zero_detection(),
        warn_percent: *warn,
        critical_percent: *critical,
        labels: label.iter().cloned().collect(),
        qos_policy: None,
    };
    if rehearsal.dry_run {
        return change(name, &set, client, output).await;
    }
    let volume = client.patch::<Volume>(&path(name), &set).await?;
    output.made("volume", &volume, true)?;
    if write_cache.is_some() {
        output.report(&format!("write cache of {} is {}", volume.name, cache(&volume)));
    }
    if !space.is_empty() {
        let zeros = if volume.zero_detection { "detected" } else { "stored" };
        output.report(&format!("{} is {}; zeros are {zeros}", volume.name, reserve(&volume)));
    }
    Ok(())
}

async fn rollback(
    name: &str,
    snapshot: &str,
    keep: Option<&String>,
    (force, rehearsal): (bool, DryRun),
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let rollback = VolumeRollback { snapshot: snapshot.to_owned(), force, keep: keep.cloned() };
    let resource = format!("{}/rollback", path(name));
    if rehearsal.dry_run {
        let what = format!("roll volume {name} back to snapshot {snapshot}");
        return effect::one(&what, (Method::POST, &resource, Some(&rollback)), client, output).await;
    }
    let kept = if keep.is_some() { "" } else { "; what it has now is lost" };
    let resized = if output.asks() { resized(name, snapshot, client).await? } else { String::new() };
    output.confirm(&format!("roll volume {name} back to snapshot {snapshot}{resized}{kept}?"))?;
    let volume = client.post::<Volume>(&resource, &rollback).await?.body;
    output.made("volume", &volume, true)?;
    output.report(&format!("volume {} is as it was in snapshot {snapshot}", volume.name));
    output.warnings(&volume.warnings);
    Ok(())
}

async fn delete(
    names: &[String],
    Deletion { with_snapshots, revoke, now, rehearsal }: Deletion,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let resource = |name: &str| format!("{}?with_snapshots={with_snapshots}&revoke={revoke}&now={now}", path(name));
    if rehearsal.dry_run {
        let all = names.iter().map(|name| (name, resource(name)));
        return effect::deletions("delete volume", all, client, output).await;
    }
    let good = if now { " for good" } else { "" };
    let snapshots = if with_snapshots { " and all its snapshots" } else { "" };
    let mut deleted = Vec::with_capacity(names.len());
    let mut result = Ok(());
    for name in names {
        let question = format!("delete volume {name}{snapshots}{good}?");
        let trashed = match output.confirm_for(&path(name), client, &question).await {
            Ok(()) => client.delete_with(&resource(name)).await,
            Err(error) => Err(error),
        };
        match trashed {
            Ok(trashed) => trash::report_deleted("volume", name, trashed, output),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
        deleted.push(name.as_str());
    }
    // Reported even if a deletion fails: the volumes before it are deleted.
    output.deleted(&deleted)?;
    result
}

/// Change of the volume's size by a rollback, as a clause of a question; empty if the size stays.
/// Fails if there is no such volume or snapshot.
async fn resized(name: &str, snapshot: &str, client: &Client) -> Result<String, CliError> {
    let volume = client.get::<Volume>(&path(name)).await?;
    let snapshots = client.long_list::<Snapshot>(&format!("{}/snapshots", path(name))).await?;
    let short = snapshot.split_once('@').map_or(snapshot, |(_, short)| short);
    let named = |candidate: &&Snapshot| candidate.name == short || candidate.id.to_string() == snapshot;
    let Some(snapshot) = snapshots.iter().find(named) else {
        let help = format!("list the snapshots:  windlass snapshot list {name}");
        return Err(CliError::not_found(format!("volume {name} has no snapshot {snapshot}"), &help));
    };
    let (before, after) = (volume.size_bytes, snapshot.size_bytes);
    let verb = match after.cmp(&before) {
        std::cmp::Ordering::Equal => return Ok(String::new()),
        std::cmp::Ordering::Less => "shrinks",
        std::cmp::Ordering::Greater => "grows",
    };
    Ok(format!("; it {verb} from {} to {}", api::size::exact(before), api::size::exact(after)))
}

async fn list(selection: &Selection, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let volumes = selection.show::<Volume>("/api/v1/volumes", client, output).await?;
    if selection.is_whole() && output.is_for_people() {
        let pools = client.list::<Pool>("/api/v1/pools").await?;
        let summary = summary(&volumes, &pools);
        output.report(&summary);
    }
    Ok(())
}

/// Summary line below the list.
fn summary(volumes: &[Volume], pools: &[Pool]) -> String {
    let sum = |value: fn(&Pool) -> u64| pools.iter().map(value).fold(0, u64::saturating_add);
    let (size, used, provisioned) =
        (sum(|pool| pool.size_bytes), sum(|pool| pool.used_bytes), sum(|pool| pool.provisioned_bytes));
    let hundredths = |part: u64| (u128::from(part) * 100).checked_div(u128::from(size)).unwrap_or(0);
    let shared: Option<u64> = pools.iter().map(|pool| pool.shared_bytes).sum();
    let shared = shared.map(|shared| format!("; {} of it shared", api::size::format(shared))).unwrap_or_default();
    format!(
        "{} volume{} · provisioned {} · pool used {} of {} ({}%{shared}) · over-commit {}",
        volumes.len(),
        if volumes.len() == 1 { "" } else { "s" },
        api::size::format(provisioned),
        api::size::format(used),
        api::size::format(size),
        hundredths(used),
        percent::shown(u64::try_from(hundredths(provisioned)).unwrap_or(u64::MAX)),
    )
}

fn new(name: &str, size: Option<u64>, source: Option<&String>, write_cache: Switch, space: &Space) -> VolumeCreate {
    VolumeCreate {
        name: name.to_owned(),
        size_bytes: size,
        source: source.cloned(),
        source_file: None,
        pool: None,
        write_cache: write_cache == Switch::On,
        reserve: space.reserve(),
        overwrite_reserve_percent: space.overwrite_reserve,
        zero_detection: space.zero_detection(),
        labels: BTreeMap::new(),
    }
}

async fn make(create: &VolumeCreate, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let answer = client.post::<Volume>("/api/v1/volumes", create).await?;
    output.made("volume", &answer.body, answer.created)?;
    output.warnings(&answer.body.warnings);
    Ok(())
}

fn path(name: &str) -> String {
    format!("/api/v1/volumes/{}", segment(name))
}
