//! `windlass reservation`: the initiators that are registered with a volume, and the holder of its
//! reservation.

use crate::client::{Client, query, segment};
use crate::effect::{self, DryRun};
use crate::error::CliError;
use crate::output::{Column, Format, Output, Resource, Value, column, minor, wide};
use api::{Registration, Reservations};

/// Verbs of `windlass reservation`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List registrations and reservations
    #[command(
        after_help = "Examples:\n  windlass reservation list\n  windlass reservation list win-dc1 -o json\n\nTYPE is shown where the initiator holds the reservation; reserve is RESERVE (6), the others are of PERSISTENT RESERVE OUT."
    )]
    List {
        /// Only this volume
        volume: Option<String>,
    },
    /// Show the reservation of one volume, and its registrations
    #[command(after_help = "Example:\n  windlass reservation show win-dc1")]
    Show {
        /// Name or id of the volume
        volume: String,
    },
    /// Remove the reservation of a volume and all registrations with it
    #[command(
        after_help = "Examples:\n  windlass reservation clear win-dc1 --dry-run\n  windlass reservation clear win-dc1\n\nFor what hosts that are gone have left. Running clusters keep their nodes apart by reservations: stop them first."
    )]
    Clear {
        /// Name or id of the volume
        volume: String,
        #[command(flatten)]
        rehearsal: DryRun,
    },
}

impl Resource for Registration {
    const WHEN_EMPTY: &'static str = "no initiator has registered or reserved anything";
    const COLUMNS: &'static [Column<Self>] = &[
        column("volume", |row| row.volume.as_str().into()),
        column("initiator", |row| row.initiator.as_str().into()),
        minor("isid", |row| row.isid.as_str().into()),
        column("host", |row| row.host.clone().into()),
        minor("portal", |row| Value::Number(u64::from(row.portal_id))),
        minor("group", |row| row.group.map_or(Value::None, |group| Value::Number(u64::from(group)))),
        column("key", |row| row.key.clone().into()),
        column("type", |row| row.reservation_type.map(|kind| kind.word()).into()),
    ];

    fn name(&self) -> String {
        format!("{},i,0x{},t,{}", self.initiator, self.isid, self.portal_id)
    }
}

impl Resource for Reservations {
    const WHEN_EMPTY: &'static str = "";
    const COLUMNS: &'static [Column<Self>] = &[
        column("volume", |row| row.volume.as_str().into()),
        column("type", |row| row.reservation_type.map(|kind| kind.word()).into()),
        column("registrations", |row| Value::Number(row.registrations.len() as u64)),
        column("persistent", |row| if row.persistent { "yes" } else { "no" }.into()),
        column("generation", |row| Value::Number(u64::from(row.generation))),
        column("conflicts", |row| Value::Number(row.conflicts)),
        wide("holders", |row| Value::Number(row.registrations.iter().filter(|row| row.holder).count() as u64)),
    ];

    fn name(&self) -> String {
        self.volume.clone()
    }
}

fn path(volume: &str) -> String {
    format!("/api/v1/volumes/{}/reservations", segment(volume))
}

pub(crate) async fn run(verb: &Verb, client: &Client, output: &mut Output<'_, '_>) -> Result<(), CliError> {
    match verb {
        Verb::List { volume } => {
            let query = query(&[("volume", volume.as_deref())]);
            output.list(&client.long_list::<Registration>(&format!("/api/v1/reservations{query}")).await?)
        }
        Verb::Clear { volume, rehearsal: DryRun { dry_run: true } } => {
            effect::deletions("clear reservations of volume", [(volume, path(volume))], client, output).await
        }
        Verb::Clear { volume, .. } => {
            output.confirm(&format!("clear the reservation and all registrations of volume {volume}?"))?;
            client.delete(&path(volume)).await?;
            output.report(&format!("reservations of volume {volume} cleared"));
            Ok(())
        }
        Verb::Show { volume } => {
            let path = path(volume);
            let shown = client.get::<Reservations>(&path).await?;
            output.show(&shown)?;
            if matches!(output.format(), Format::Table | Format::Wide) && !shown.registrations.is_empty() {
                output.text("\n")?;
                output.list(&shown.registrations)?;
            }
            Ok(())
        }
    }
}
