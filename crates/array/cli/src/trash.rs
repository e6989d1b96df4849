//! `windlass trash`: deleted volumes, shares and snapshots, which can be restored.

use crate::client::{Client, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Output, Resource, Value, column, wide};
use crate::selection::Selection;
use api::{Restored, TrashEmptied, TrashKind, TrashRestore, Trashed};
use std::time::Duration;

/// Verbs of `windlass trash`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List the trash, earliest expiry first
    #[command(after_help = "Example:\n  windlass trash list")]
    List(Selection),
    /// Restore a volume, share or snapshot, with the snapshots that were deleted with it
    #[command(
        after_help = "Examples:\n  windlass trash restore win-dc1\n  windlass trash restore win-dc1@monday --name monday2\n  windlass trash restore win-dc1 --name win-dc1-old --grants"
    )]
    Restore(Restore),
    /// Delete for good what is in the trash
    #[command(
        group = clap::ArgGroup::new("which").required(true).args(["items", "all"]),
        after_help = "Examples:\n  windlass trash empty --all\n  windlass trash empty win-dc1 --yes"
    )]
    Empty {
        /// Names or ids
        items: Vec<String>,
        /// All that is in the trash
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        rehearsal: DryRun,
    },
}

/// Options of a restoration.
#[derive(Clone, Debug, clap::Args)]
pub struct Restore {
    /// Name or id
    item: String,
    /// New name, of a snapshot without its volume; default: the one that it had
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Grant a volume to those who had it, at the same LUNs
    #[arg(long)]
    grants: bool,
}

impl Resource for Trashed {
    const WHEN_EMPTY: &'static str = "the trash is empty";
    const COLUMNS: &'static [Column<Self>] = &[
        column("name", |item| item.name.as_str().into()),
        column("kind", |item| kind(item.kind).into()),
        column("size", |item| item.size_bytes.map(Value::Bytes).into()),
        column("holds", |item| item.holds_bytes.map(Value::Bytes).into()),
        column("snapshots", |item| Value::Number(item.snapshots)),
        column("deleted", |item| format!("{:.0}", item.deleted).into()),
        column("until", |item| format!("{:.0}", item.until).into()),
        wide("locked", |item| item.locked_until.map(|until| format!("{until:.0}")).into()),
        wide("grants", |item| Value::Number(item.grants)),
        wide("naa", |item| item.naa.as_deref().into()),
        wide("id", |item| item.id.to_string().into()),
    ];

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// Word of a kind.
const fn kind(kind: TrashKind) -> &'static str {
    match kind {
        TrashKind::Volume => "volume",
        TrashKind::Share => "share",
        TrashKind::Snapshot => "snapshot",
    }
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List(selection) => selection.show::<Trashed>("/api/v1/trash", client, output).await.map(drop),
        Verb::Restore(options) => restore(options, None, client, output).await,
        Verb::Empty { items, all, rehearsal: DryRun { dry_run: true } } => {
            const ALL: &str = "/api/v1/trash";
            let (everything, one) =
                ("all that is in it".to_owned(), |item: &String| format!("{ALL}/{}", segment(item)));
            let all = all.then(|| (&everything, ALL.to_owned()));
            let items = items.iter().map(|item| (item, one(item)));
            effect::deletions("delete from the trash", all.into_iter().chain(items), client, output).await
        }
        Verb::Empty { items, all: false, .. } => {
            for item in items {
                output.confirm(&format!("delete {item} in the trash for good?"))?;
                emptied(client.delete_with(&format!("/api/v1/trash/{}", segment(item))).await?, output)?;
            }
            Ok(())
        }
        Verb::Empty { all: true, .. } => {
            output.confirm("delete for good all that is in the trash?")?;
            emptied(client.delete_with("/api/v1/trash").await?, output)
        }
    }
}

/// Reports what was deleted for good.
fn emptied(reply: Option<TrashEmptied>, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    let deleted = reply.map(|reply| reply.deleted).unwrap_or_default();
    deleted.iter().for_each(|name| output.report(&format!("{name} deleted for good")));
    let names: Vec<&str> = deleted.iter().map(String::as_str).collect();
    output.deleted(&names)
}

/// Restores one object, of one kind or of any.
pub(crate) async fn restore(
    Restore { item, name, grants }: &Restore,
    only: Option<TrashKind>,
    client: &Client,
    output: &mut Output<'_, '_>,
) -> Result<(), CliError> {
    let restore = TrashRestore { kind: only, name: name.clone(), grants: *grants };
    let path = format!("/api/v1/trash/{}/restore", segment(item));
    let restored = client.post::<Restored>(&path, &restore).await?.body;
    let snapshots = match restored.snapshots {
        0 => String::new(),
        1 => " with 1 snapshot".to_owned(),
        snapshots => format!(" with {snapshots} snapshots"),
    };
    output.report(&format!("{} {} restored{snapshots}", kind(restored.kind), restored.name));
    if *grants {
        output.report(&format!("{} grant{} made again", restored.grants, if restored.grants == 1 { "" } else { "s" }));
    }
    output.warnings(&restored.warnings);
    if output.is_document() { output.document(&restored) } else { Ok(()) }
}

/// Reports a deletion: where the object went.
pub(crate) fn report_deleted(noun: &str, name: &str, trashed: Option<Trashed>, output: &mut Output<'_, '_>) {
    output.report(&match trashed {
        Some(item) => {
            format!("{noun} {name} deleted; until {:.0}:  windlass trash restore {}", item.until, item.name)
        }
        None => format!("{noun} {name} deleted"),
    });
}

/// Reads the time for which the trash keeps what is deleted: `24h`, `7d`, `off`. In seconds.
pub(crate) fn parse_age(text: &str) -> Result<u32, String> {
    if text == "off" {
        return Ok(0);
    }
    let age = api::duration::parse(text)?;
    u32::try_from(age.as_secs())
        .ok()
        .filter(|_| age <= Duration::from_secs(30 * 86_400))
        .ok_or_else(|| format!("{text:?} is too long: the trash keeps what is deleted for at most 30d"))
}

#[cfg(test)]
mod tests {
    use super::parse_age;

    #[test]
    fn the_trash_keeps_things_for_up_to_thirty_days() {
        for (text, seconds) in [("off", 0), ("0s", 0), ("24h", 86_400), ("30d", 2_592_000)] {
            assert_eq!(parse_age(text), Ok(seconds), "{text}");
        }
        for text in ["31d", "on", "", "5"] {
            assert!(parse_age(text).is_err(), "{text}");
        }
    }
}
