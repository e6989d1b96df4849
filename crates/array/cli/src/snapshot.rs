//! `windlass snapshot`: read-only copies of volumes and shares at one instant. A volume and a share
//! have no name in common, so that the array finds either.

use crate::client::{Client, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, wide};
use crate::selection::Selection;
use crate::trash;
use api::{List, Snapshot, SnapshotCreate, SnapshotGroupCreate, SnapshotLock, SnapshotPin, SourceKind, TreeNode};
use jiff::Timestamp;
use std::time::Duration;

/// Verbs of `windlass snapshot`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List snapshots
    #[command(
        after_help = "Examples:\n  windlass snapshot list\n  windlass snapshot list win-dc1\n  windlass snapshot list --sort -unique_bytes --limit 20"
    )]
    List {
        /// Only snapshots of this volume or share
        volume: Option<String>,
        /// Which, and in which order
        #[command(flatten)]
        selection: Selection,
    },
    /// Show one snapshot
    #[command(after_help = "Example:\n  windlass snapshot show win-dc1@monday")]
    Show {
        /// VOLUME@SNAPSHOT, SHARE@SNAPSHOT or id
        snapshot: String,
    },
    /// Create a snapshot of a volume or share, or of several at one instant; takes no time and no space
    #[command(
        after_help = "Examples:\n  windlass snapshot create win-dc1 monday\n  windlass snapshot create vms nightly\n  windlass snapshot create --group db-data db-log --name nightly\n\nA group is taken as a whole or not at all: no write is in one of its snapshots and not in the other that came before it.\n\nA name that exists already is refused with status 4: the content of that snapshot is older. A job that runs again and again uses a new name each time, such as a date."
    )]
    Create {
        /// Volume or share, by name or id
        #[arg(required_unless_present = "group", conflicts_with = "group")]
        volume: Option<String>,
        /// Name, unique within the volume or share
        #[arg(required_unless_present = "group")]
        name: Option<String>,
        /// Volumes and shares of the group
        #[arg(long, value_name = "VOLUME", num_args = 1.., value_delimiter = ',', requires = "group_name")]
        group: Vec<String>,
        /// Name of each snapshot of the group
        #[arg(long = "name", value_name = "NAME", id = "group_name", requires = "group")]
        group_name: Option<String>,
    },
    /// Show a volume or share, its snapshots, their clones, and so on
    #[command(after_help = "Example:\n  windlass snapshot tree tmpl-win")]
    Tree {
        /// Volume or share, by name or id
        volume: String,
    },
    /// Lock a snapshot against deletion, or lengthen its lock; a lock cannot be shortened
    #[command(
        after_help = "Examples:\n  windlass snapshot lock win-dc1@monday --until 30d\n  windlass snapshot lock win-dc1@monday --until 2027-01-31T00:00:00Z\n\nThe space of a locked snapshot cannot be given back before: locks may fill the pool."
    )]
    Lock {
        /// VOLUME@SNAPSHOT, SHARE@SNAPSHOT or id
        snapshot: String,
        /// Time of its end, or time from now on
        #[arg(long, value_name = "TIME", value_parser = parse_until)]
        until: Until,
    },
    /// Pin a snapshot: the rules of its schedule leave it alone
    #[command(after_help = "Example:\n  windlass snapshot pin win-dc1@gold.2026-11-23T101500Z")]
    Pin {
        /// VOLUME@SNAPSHOT, SHARE@SNAPSHOT or id
        snapshot: String,
    },
    /// Release a snapshot to the rules of its schedule
    #[command(after_help = "Example:\n  windlass snapshot unpin win-dc1@gold.2026-11-23T101500Z")]
    Unpin {
        /// VOLUME@SNAPSHOT, SHARE@SNAPSHOT or id
        snapshot: String,
    },
    /// Delete a snapshot; its clones stay
    #[command(
        after_help = "Examples:\n  windlass snapshot delete win-dc1@monday\n  windlass snapshot delete win-dc1 monday"
    )]
    Delete {
        /// VOLUME@SNAPSHOT, SHARE@SNAPSHOT or id; or the volume or share, followed by the name of the snapshot
        snapshot: String,
        /// Name of the snapshot, after the volume or share
        name: Option<String>,
        /// Delete for good, instead of to the trash; for admins
        #[arg(long)]
        now: bool,
        #[command(flatten)]
        rehearsal: DryRun,
    },
}

/// End of a lock.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// At this time.
    At(Timestamp),
    /// After this time from now on.
    In(Duration),
}

fn parse_until(text: &str) -> Result<Until, String> {
    let wrong = || format!("{text:?} is neither a time such as 2027-01-31T00:00:00Z nor a duration such as 30d");
    text.parse().map(Until::At).or_else(|_| api::duration::parse(text).map(Until::In)).map_err(|_| wrong())
}

impl Until {
    fn time(self) -> Result<Timestamp, CliError> {
        match self {
            Self::At(time) => Ok(time),
            Self::In(time) => {
                let end = Timestamp::now().checked_add(time);
                end.map_err(|_| CliError::usage("the lock would end beyond the calendar".to_owned()))
            }
        }
    }
}

/// `locked until …`, `pinned`.
fn kept(snapshot: &Snapshot) -> Option<String> {
    let until =
        snapshot.locked_until.filter(|until| *until > Timestamp::now()).map(|until| format!("locked until {until:.0}"));
    until.or_else(|| snapshot.pinned.then(|| "pinned".to_owned()))
}

impl Resource for Snapshot {
    const WHEN_EMPTY: &'static str = "no snapshots; take one:  windlass snapshot create VOLUME NAME";
    const COLUMNS: &'static [Column<Self>] = &[
        column("volume", |snapshot| snapshot.volume.as_str().into()),
        column("name", |snapshot| snapshot.name.as_str().into()),
        column("size", |snapshot| (!snapshot.of_share).then_some(Value::Bytes(snapshot.size_bytes)).into()),
        column("mapped", |snapshot| Value::Bytes(snapshot.mapped_bytes)),
        column("unique", |snapshot| snapshot.unique_bytes.map(Value::Bytes).into()),
        column("created", |snapshot| format!("{:.0}", snapshot.created).into()),
        column("clones", |snapshot| (!snapshot.dependents.is_empty()).then(|| snapshot.dependents.join(" ")).into()),
        wide("schedule", |snapshot| snapshot.schedule.as_deref().into()),
        wide("kept", |snapshot| kept(snapshot).into()),
        wide("id", |snapshot| snapshot.id.to_string().into()),
        wide("group", |snapshot| snapshot.group_id.map(|id| id.to_string()).into()),
    ];

    fn name(&self) -> String {
        format!("{}@{}", self.volume, self.name)
    }
}

impl Resource for TreeNode {
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |node| indented(node).into()),
        column("kind", |node| kind(node.kind).into()),
        column("mapped", |node| Value::Bytes(node.mapped_bytes)),
        column("unique", |node| node.unique_bytes.map(Value::Bytes).into()),
        column("dependents", |node| Value::Number(node.dependents)),
        wide("size", |node| Value::Bytes(node.size_bytes)),
        wide("created", |node| format!("{:.0}", node.created).into()),
        wide("id", |node| node.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// Indents a name by two spaces for each step from the root; limits the indentation of very deep
/// nodes.
fn indented(node: &TreeNode) -> String {
    let depth = usize::try_from(node.depth).unwrap_or(usize::MAX).min(32);
    format!("{}{}", "  ".repeat(depth), node.name)
}

const fn kind(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::Volume => "volume",
        SourceKind::Snapshot => "snapshot",
        SourceKind::Share => "share",
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List { volume, selection } => {
            let path = volume.as_ref().map_or("/api/v1/snapshots".to_owned(), |volume| of_volume(volume));
            selection.show::<Snapshot>(&path, client, output).await.map(drop)
        }
        Verb::Show { snapshot } => output.show(&client.get::<Snapshot>(&path(snapshot)).await?),
        Verb::Create { group_name: Some(name), group, .. } => {
            let create = SnapshotGroupCreate { volumes: group.clone(), name: name.clone() };
            let answer = client.post::<List<Snapshot>>("/api/v1/snapshots", &create).await?;
            output.list(&answer.body.items)
        }
        Verb::Tree { volume } => {
            let path = format!("/api/v1/volumes/{}/tree", segment(volume));
            output.list(&client.list::<TreeNode>(&path).await?)
        }
        Verb::Create { volume, name, .. } => {
            let (Some(volume), Some(name)) = (volume, name) else {
                return Err(CliError::usage("give a volume and a name, or --group and --name".to_owned()));
            };
            let create = SnapshotCreate { name: name.clone() };
            let answer = client.post::<Snapshot>(&of_volume(volume), &create).await?;
            output.made("snapshot", &answer.body, answer.created)
        }
        Verb::Lock { snapshot, until } => {
            let lock = SnapshotLock { until: until.time()? };
            output.confirm_for(&path(snapshot), client, &format!("lock {snapshot} until {:.0}?", lock.until)).await?;
            let locked = client.post::<Snapshot>(&format!("{}/lock", path(snapshot)), &lock).await?.body;
            output.made("snapshot", &locked, true)?;
            output.report(&format!("snapshot {snapshot} is locked until {:.0}", lock.until));
            Ok(())
        }
        Verb::Pin { snapshot } => pin(snapshot, true, client, output).await,
        Verb::Unpin { snapshot } => pin(snapshot, false, client, output).await,
        Verb::Delete { snapshot, name, now, rehearsal } => {
            let full_name = name.as_ref().map_or_else(|| snapshot.clone(), |name| format!("{snapshot}@{name}"));
            let resource = format!("{}?now={now}", path(&full_name));
            if rehearsal.dry_run {
                return effect::deletions("delete snapshot", [(&full_name, resource)], client, output).await;
            }
            output.confirm_for(&path(&full_name), client, &format!("delete snapshot {full_name}?")).await?;
            let trashed = client.delete_with(&resource).await?;
            trash::report_deleted("snapshot", &full_name, trashed, output);
            output.deleted(&[&full_name])
        }
    }
}

async fn pin(snapshot: &str, pinned: bool, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let body = client.post::<Snapshot>(&format!("{}/pin", path(snapshot)), &SnapshotPin { pinned }).await?.body;
    output.made("snapshot", &body, true)
}

fn path(snapshot: &str) -> String {
    format!("/api/v1/snapshots/{}", segment(snapshot))
}

fn of_volume(volume: &str) -> String {
    format!("/api/v1/volumes/{}/snapshots", segment(volume))
}
