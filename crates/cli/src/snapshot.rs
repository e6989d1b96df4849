//! `windlass snapshot`: read-only points in time.

use crate::client::{Client, segment};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, wide};
use api::{List, Snapshot, SnapshotCreate};

/// Verbs of `windlass snapshot`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List snapshots
    #[command(after_help = "Examples:\n  windlass snapshot list\n  windlass snapshot list win-dc1")]
    List {
        /// Only those of this volume
        volume: Option<String>,
    },
    /// Show one snapshot
    #[command(after_help = "Example:\n  windlass snapshot show win-dc1@monday")]
    Show {
        /// VOLUME@SNAPSHOT or id
        snapshot: String,
    },
    /// Take a snapshot of a volume; takes no time and no space
    #[command(after_help = "Example:\n  windlass snapshot create win-dc1 monday")]
    Create {
        /// Volume, by name or id
        volume: String,
        /// Name, unique within the volume
        name: String,
    },
    /// Delete a snapshot; clones made from it stay
    #[command(
        after_help = "Examples:\n  windlass snapshot delete win-dc1@monday\n  windlass snapshot delete win-dc1 monday"
    )]
    Delete {
        /// VOLUME@SNAPSHOT or id; or the volume, followed by the snapshot's name
        snapshot: String,
        /// The snapshot's name, when the volume stands before it
        name: Option<String>,
    },
}

impl Resource for Snapshot {
    const WHEN_EMPTY: &'static str = "no snapshots; take one:  windlass snapshot create VOLUME NAME";
    const COLUMNS: &'static [Column<Self>] = &[
        column("volume", |snapshot| snapshot.volume.as_str().into()),
        column("name", |snapshot| snapshot.name.as_str().into()),
        column("size", |snapshot| Value::Bytes(snapshot.size_bytes)),
        column("mapped", |snapshot| Value::Bytes(snapshot.mapped_bytes)),
        column("unique", |snapshot| snapshot.unique_bytes.map(Value::Bytes).into()),
        column("created", |snapshot| format!("{:.0}", snapshot.created).into()),
        column("clones", |snapshot| (!snapshot.dependents.is_empty()).then(|| snapshot.dependents.join(" ")).into()),
        wide("id", |snapshot| snapshot.id.to_string().into()),
    ];

    fn name(&self) -> String {
        format!("{}@{}", self.volume, self.name)
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List { volume } => {
            let path = volume.as_ref().map_or("/api/v1/snapshots".to_owned(), |volume| of_volume(volume));
            output.list(&client.get::<List<Snapshot>>(&path).await?.items)
        }
        Verb::Show { snapshot } => output.show(&client.get::<Snapshot>(&path(snapshot)).await?),
        Verb::Create { volume, name } => {
            let create = SnapshotCreate { name: name.clone() };
            let answer = client.post::<Snapshot>(&of_volume(volume), &create).await?;
            output.made("snapshot", &answer.body, answer.created)
        }
        Verb::Delete { snapshot, name } => {
            let full_name = name.as_ref().map_or_else(|| snapshot.clone(), |name| format!("{snapshot}@{name}"));
            output.confirm(&format!("delete snapshot {full_name}?"))?;
            client.delete(&path(&full_name)).await?;
            output.say(&format!("snapshot {full_name} deleted"));
            Ok(())
        }
    }
}

fn path(snapshot: &str) -> String {
    format!("/api/v1/snapshots/{}", segment(snapshot))
}

fn of_volume(volume: &str) -> String {
    format!("/api/v1/volumes/{}/snapshots", segment(volume))
}
