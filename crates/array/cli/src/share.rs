//! `windlass share`: files that hosts use over NFS.

use crate::client::{Client, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, minor, wide};
use crate::selection::Selection;
use crate::trash;
use api::size::SizeError;
use api::{CopyPolicy, Latency, NfsVersion, Share, ShareCreate, ShareIo, ShareRollback, ShareSet, ShareSpace};
use connect::Server;
use hyper::Method;
use serde::Serialize;

/// Verbs of `windlass share`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List shares
    #[command(after_help = "Examples:\n  windlass share list\n  windlass share list -o json")]
    List(Selection),
    /// Show one share, and how a host mounts it
    #[command(after_help = "Example:\n  windlass share show vms")]
    Show {
        /// Name or id
        name: String,
    },
    /// Show the space of a share, and its reads and writes since the array started
    #[command(
        alias = "stats",
        after_help = "Examples:\n  windlass share stat vms\n  windlass share stat vms -o json\n\nunique: what deleting the share would free. snaps: what deleting all its snapshots would free.\nThe same of one file: windlass disk stat --extendedstat nfs://HOST/SHARE/FILE"
    )]
    Stat {
        /// Name or id
        name: String,
    },
    /// Create an empty share; no host may use it before it has access
    #[command(
        after_help = "Examples:\n  windlass share create vms\n  windlass share create home --owner 1000:1000 --mode 0750 --protocols v4\n  windlass share create vms2 --quota 200G\n\nRepeating the command with the same parameters succeeds and changes nothing: the share keeps the files that it has by then."
    )]
    Create(Create),
    /// Create a share with the files of a share or of its snapshot; takes no time and no space
    #[command(
        after_help = "Examples:\n  windlass share clone vms vms-test\n  windlass share clone vms@monday restored\n\nA name that exists already is refused with status 4: that share has older files. No host may use the clone before it has access."
    )]
    Clone {
        /// Share, or snapshot as SHARE@SNAPSHOT
        source: String,
        /// Name of the new share
        name: String,
    },
    /// Change the name and settings of a share
    #[command(
        after_help = "Examples:\n  windlass share set vms --name machines\n  windlass share set vms --protocols v4\n  windlass share set vms --quota 2T\n  windlass share set vms --copy physical\n  windlass share set vms --new-handles"
    )]
    Set {
        /// Name or id
        name: String,
        /// New name, and with it a new path to mount
        #[arg(long = "name", value_name = "NEW-NAME")]
        new_name: Option<String>,
        /// Versions of NFS that serve the share: v3, v4 or v3,v4
        #[arg(long, value_name = "VERSIONS", value_enum, value_delimiter = ',', hide_possible_values = true)]
        protocols: Vec<Version>,
        /// New copy policy: share or physical, as for share create
        #[arg(long, value_name = "share|physical", value_enum, hide_possible_values = true)]
        copy: Option<Copying>,
        /// Largest space of the share, in whole MiB; less than it uses refuses growth, and nothing else
        #[arg(long, value_name = "SIZE|none", value_parser = parse_quota)]
        quota: Option<u64>,
        /// Make the filehandles of all hosts stale, so that they have to mount the share again
        #[arg(long)]
        new_handles: bool,
        #[command(flatten)]
        rehearsal: DryRun,
    },
    /// Return a share to the files of one of its snapshots; hosts keep their mounts
    #[command(
        after_help = "Examples:\n  windlass share rollback vms monday\n  windlass share rollback vms monday --keep before-rollback"
    )]
    Rollback {
        /// Name or id
        name: String,
        /// Name of one of the share's snapshots
        snapshot: String,
        /// First create a snapshot with this name of the present files
        #[arg(long, value_name = "NAME")]
        keep: Option<String>,
        #[command(flatten)]
        rehearsal: DryRun,
    },
    /// Delete shares that no host may use
    #[command(
        after_help = "Examples:\n  windlass share delete vms\n  windlass share delete scratch --with-snapshots --yes"
    )]
    Delete {
        /// Names or ids
        #[arg(required = true)]
        names: Vec<String>,
        /// Delete their snapshots too
        #[arg(long)]
        with_snapshots: bool,
        /// Delete for good, instead of to the trash; for admins
        #[arg(long)]
        now: bool,
        #[command(flatten)]
        rehearsal: DryRun,
    },
}

/// Parameters of `share create`.
#[derive(Clone, Debug, clap::Args)]
pub struct Create {
    /// Name: letters, digits, '.', '_' and '-'; no volume has it
    name: String,
    /// Pool of the share; default: the array's default pool
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// Owner and group of the root directory [default: 0:0]
    #[arg(long, value_name = "UID:GID", value_parser = parse_ids)]
    owner: Option<(u32, u32)>,
    /// Permission bits of the root directory, in octal digits [default: 0755]
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Versions of NFS that serve the share: v3, v4 or v3,v4 [default: v3,v4]
    #[arg(long, value_name = "VERSIONS", value_enum, value_delimiter = ',', hide_possible_values = true)]
    protocols: Vec<Version>,
    /// Copy policy: share (source and copy share blocks until one changes), or physical (the copy gets blocks of its
    /// own) [default: share]
    #[arg(long, value_name = "share|physical", value_enum, hide_possible_values = true)]
    copy: Option<Copying>,
    /// Largest space of the share, in whole MiB [default: none]
    #[arg(long, value_name = "SIZE|none", value_parser = parse_quota)]
    quota: Option<u64>,
}

/// Version of NFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Version {
    /// NFSv3
    V3,
    /// NFSv4.1 and 4.2
    V4,
}

/// Copy policy: what the array does when a host asks it to copy a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Copying {
    /// Source and copy share blocks
    Share,
    /// The copy gets blocks of its own
    Physical,
}

impl Copying {
    const fn policy(self) -> CopyPolicy {
        match self {
            Self::Share => CopyPolicy::Share,
            Self::Physical => CopyPolicy::Physical,
        }
    }
}

impl Resource for Share {
    const WHEN_EMPTY: &'static str = "no shares yet; make one:  windlass share create NAME";
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |share| share.name.as_str().into()),
        column("used", |share| Value::Bytes(share.mapped_bytes)),
        column("unique", |share| share.unique_bytes.map(Value::Bytes).into()),
        column("snaps", |share| share.snapshot_bytes.map(Value::Bytes).into()),
        minor("protocols", |share| protocols(share).into()),
        column("hosts", |share| hosts(share).into()),
        wide("mount", |share| mount(share).into()),
        wide("pool", |share| share.pool.as_str().into()),
        wide("shared", |share| share.shared_bytes.map(Value::Bytes).into()),
        wide("snapshots", |share| Value::Number(share.snapshots)),
        wide("quota", |share| share.quota_bytes.map(Value::Bytes).into()),
        wide("promised", |share| Value::Bytes(share.promised_bytes)),
        wide("owner", |share| format!("{}:{}", share.owner_uid, share.owner_gid).into()),
        wide("mode", |share| share.mode.as_str().into()),
        wide("copy", |share| copy(share.copy).into()),
        wide("source", |share| {
            share.source.as_ref().map(|source| source.name.clone().unwrap_or_else(|| "(deleted)".to_owned())).into()
        }),
        wide("fsid", |share| share.fsid.as_str().into()),
        wide("epoch", |share| Value::Number(share.epoch.into())),
        wide("created", |share| format!("{:.0}", share.created).into()),
        wide("id", |share| share.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// Space of a share, and its reads and writes.
#[derive(Serialize)]
struct Statistics {
    space: ShareSpace,
    io: ShareIo,
}

impl Resource for Statistics {
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |of| of.space.share.as_str().into()),
        column("used", |of| Value::Bytes(of.space.mapped_bytes)),
        column("unique", |of| of.space.unique_bytes.map(Value::Bytes).into()),
        column("shared", |of| of.space.shared_bytes.map(Value::Bytes).into()),
        column("snaps", |of| of.space.snapshot_bytes.map(Value::Bytes).into()),
        column("promised", |of| Value::Bytes(of.space.promised_bytes)),
        column("deallocated", |of| Value::Bytes(of.space.deallocated.deallocated_bytes)),
        column("reads", |of| Value::Number(of.io.reads)),
        column("read-bytes", |of| Value::Bytes(of.io.read_bytes)),
        column("read-avg", |of| time(&of.io.read_latency, of.io.read_latency.average_us)),
        column("read-p99", |of| time(&of.io.read_latency, of.io.read_latency.p99_us)),
        column("read-max", |of| time(&of.io.read_latency, of.io.read_latency.max_us)),
        column("writes", |of| Value::Number(of.io.writes)),
        column("written-bytes", |of| Value::Bytes(of.io.written_bytes)),
        column("write-avg", |of| time(&of.io.write_latency, of.io.write_latency.average_us)),
        column("write-p99", |of| time(&of.io.write_latency, of.io.write_latency.p99_us)),
        column("write-max", |of| time(&of.io.write_latency, of.io.write_latency.max_us)),
    ];

    fn name(&self) -> String {
        self.space.share.clone()
    }
}

/// A latency; none without commands.
const fn time(latency: &Latency, us: u64) -> Value {
    if latency.count > 0 { Value::Microseconds(us) } else { Value::None }
}

/// `v3,v4`.
fn protocols(share: &Share) -> String {
    let name = |version: &NfsVersion| match version {
        NfsVersion::V3 => "v3",
        NfsVersion::V4 => "v4",
    };
    share.protocols.iter().map(name).collect::<Vec<_>>().join(",")
}

/// Hosts of every rule, those that only read with `:ro`.
fn hosts(share: &Share) -> Option<String> {
    let host = |export: &api::Export| format!("{}{}", export.host, if export.read_only { ":ro" } else { "" });
    let all: Vec<String> = share.exports.iter().map(host).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// Command by which a Linux host mounts the share; none if the array does not serve NFS.
fn mount(share: &Share) -> Option<String> {
    let server = Server::parse(share.portals.first()?).ok()?;
    Some(server.mount(&share.path, share.protocols.contains(&NfsVersion::V4), false, "DIRECTORY"))
}

const fn copy(policy: CopyPolicy) -> &'static str {
    match policy {
        CopyPolicy::Share => "share",
        CopyPolicy::Physical => "physical",
    }
}

/// Parses a size, or `none`, which is 0.
fn parse_quota(text: &str) -> Result<u64, SizeError> {
    if text == "none" { Ok(0) } else { api::size::parse(text) }
}

/// Parses `UID:GID`.
pub(crate) fn parse_ids(text: &str) -> Result<(u32, u32), String> {
    let ids = text.split_once(':').and_then(|(uid, gid)| Some((uid.parse().ok()?, gid.parse().ok()?)));
    ids.ok_or_else(|| "write a user and a group as numbers, such as 1000:1000".to_owned())
}

fn versions(protocols: &[Version]) -> Option<Vec<NfsVersion>> {
    let version = |version: &Version| match version {
        Version::V3 => NfsVersion::V3,
        Version::V4 => NfsVersion::V4,
    };
    (!protocols.is_empty()).then(|| protocols.iter().map(version).collect())
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List(selection) => selection.show::<Share>("/api/v1/shares", client, output).await.map(drop),
        Verb::Show { name } => output.show(&client.get::<Share>(&path(name)).await?),
        Verb::Stat { name } => {
            let space = client.get(&format!("{}/space", path(name))).await?;
            let io = client.get(&format!("{}/io", path(name))).await?;
            output.show(&Statistics { space, io })
        }
        Verb::Create(create) => {
            let create = ShareCreate {
                name: create.name.clone(),
                source: None,
                pool: create.pool.clone(),
                owner_uid: create.owner.map(|(uid, _)| uid),
                owner_gid: create.owner.map(|(_, gid)| gid),
                mode: create.mode.clone(),
                protocols: versions(&create.protocols),
                copy: create.copy.map(Copying::policy),
                quota_bytes: create.quota,
            };
            make(&create, client, output).await
        }
        Verb::Clone { source, name } => {
            let (name, source) = (name.clone(), Some(source.clone()));
            make(&ShareCreate { name, source, ..ShareCreate::default() }, client, output).await
        }
        Verb::Set { name, new_name, protocols, copy, quota, new_handles, rehearsal } => {
            let set = ShareSet {
                name: new_name.clone(),
                protocols: versions(protocols),
                copy: copy.map(Copying::policy),
                quota_bytes: *quota,
                new_handles: *new_handles,
            };
            if set == ShareSet::default() {
                let message = "nothing to change: give --name, --protocols, --copy, --quota or --new-handles";
                return Err(CliError::usage(message.to_owned()));
            }
            if rehearsal.dry_run {
                let change = (Method::PATCH, path(name), Some(&set));
                return effect::one(&format!("change share {name}"), (change.0, &change.1, change.2), client, output)
                    .await;
            }
            if *new_handles {
                let question = format!("make the filehandles of all hosts of share {name} stale?");
                output.confirm_for(&path(name), client, &question).await?;
            }
            output.made("share", &client.patch::<Share>(&path(name), &set).await?, true)
        }
        Verb::Rollback { name, snapshot, keep, rehearsal } => {
            let rollback = ShareRollback { snapshot: snapshot.to_owned(), keep: keep.clone() };
            self::rollback(name, &rollback, *rehearsal, client, output).await
        }
        Verb::Delete { names, with_snapshots, now, rehearsal: DryRun { dry_run: true } } => {
            let all = names.iter().map(|name| (name, deletion(name, *with_snapshots, *now)));
            effect::deletions("delete share", all, client, output).await
        }
        Verb::Delete { names, with_snapshots, now, .. } => delete(names, *with_snapshots, *now, client, output).await,
    }
}

async fn make(create: &ShareCreate, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let answer = client.post::<Share>("/api/v1/shares", create).await?;
    output.made("share", &answer.body, answer.created)?;
    output.warnings(&answer.body.warnings);
    Ok(())
}

async fn rollback(
    name: &str,
    rollback: &ShareRollback,
    rehearsal: DryRun,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let ShareRollback { snapshot, keep } = rollback;
    let resource = format!("{}/rollback", path(name));
    if rehearsal.dry_run {
        let what = format!("roll share {name} back to snapshot {snapshot}");
        return effect::one(&what, (Method::POST, &resource, Some(rollback)), client, output).await;
    }
    let kept = if keep.is_some() { "" } else { "; what it has now is lost" };
    let question = format!("roll share {name} back to snapshot {snapshot}{kept}?");
    output.confirm_for(&path(name), client, &question).await?;
    let share = client.post::<Share>(&resource, rollback).await?.body;
    output.made("share", &share, true)?;
    output.report(&format!("share {} is as it was in snapshot {snapshot}", share.name));
    Ok(())
}

/// Path that deletes a share.
fn deletion(name: &str, with_snapshots: bool, now: bool) -> String {
    format!("{}?with_snapshots={with_snapshots}&now={now}", path(name))
}

async fn delete(
    names: &[String],
    with_snapshots: bool,
    now: bool,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let snapshots = if with_snapshots { " and all its snapshots" } else { "" };
    let mut deleted = Vec::with_capacity(names.len());
    for name in names {
        output.confirm_for(&path(name), client, &format!("delete share {name}{snapshots}?")).await?;
        let trashed = client.delete_with(&deletion(name, with_snapshots, now)).await?;
        trash::report_deleted("share", name, trashed, output);
        deleted.push(name.as_str());
    }
    output.deleted(&deleted)
}

/// Path of a share.
pub(crate) fn path(name: &str) -> String {
    format!("/api/v1/shares/{}", segment(name))
}
