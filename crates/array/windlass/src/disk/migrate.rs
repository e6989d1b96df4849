//! `windlass disk migrate`: moves a disk while a guest uses it.

use super::{FormatName, Task};
use crate::host_kit::Shown;
use futures_util::future::LocalBoxFuture;
use std::time::Duration;
use virtual_disk::load::LoadOptions;
use virtual_disk::verbs::migrate::MigrateOptions;
use virtual_disk::{DiskError, Kit, Location, Meter, verbs};

/// Move a disk while a guest uses it: writes go to both copies until the guest is switched to
/// the new one
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  windlass disk migrate iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 iscsi://192.0.2.7/iqn.2026-01.org.example:t/1#vm1 -d thin\n  windlass disk migrate --load iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#scratch iscsi://192.0.2.7/iqn.2026-01.org.example:t/1#scratch\n\nA guest is part of the process that has the disk open: with --load, a load that overwrites the disk and verifies its data; otherwise the disk has no guest.\nA disk that another process has open cannot be migrated from outside. After a failure or Ctrl-C the disk is where it was."
)]
pub(super) struct Migrate {
    /// URL#NAME, or URL for the whole logical unit
    pub(super) source: Location,
    /// URL#NAME, or URL for the whole logical unit
    pub(super) destination: Location,
    /// Format of a new disk
    #[arg(short = 'd', long = "format", value_name = "FORMAT", value_enum, default_value_t = FormatName::Thin)]
    pub(super) format: FormatName,
    /// Let the host copy: READ and WRITE instead of EXTENDED COPY
    #[arg(short = 'N', long)]
    pub(super) by_host: bool,
    /// Keep the source; a whole logical unit is always kept
    #[arg(long)]
    pub(super) keep_source: bool,
    /// Overwrite the disk with a verifying load before, during and after the migration
    #[arg(long)]
    pub(super) load: bool,
    /// Number of concurrent requests of the load
    #[arg(long, value_name = "N", default_value_t = 4, requires = "load", value_parser = clap::value_parser!(u64).range(1..=64))]
    pub(super) depth: u64,
    /// Run the load this many seconds before the migration, and again after it
    #[arg(long, value_name = "SECONDS", default_value_t = 2, requires = "load", value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub(super) settle: u64,
    /// Destroy the data on the whole logical unit with this name (naa.…)
    #[arg(long, value_name = "NAME")]
    pub(super) destroy_data: Option<String>,
}

impl Task for Migrate {
    fn locations_mut(&mut self) -> Vec<&mut Location> {
        vec![&mut self.source, &mut self.destination]
    }

    fn by_host(&self) -> bool {
        self.by_host
    }

    fn words(&self) -> String {
        format!("moving {} → {}", self.source, self.destination)
    }

    fn run<'a>(&'a self, kit: &'a Kit, meter: &'a Meter) -> LocalBoxFuture<'a, Result<Shown, DiskError>> {
        Box::pin(async {
            let seed = u64::from(std::process::id());
            let options = MigrateOptions {
                format: self.format.into(),
                keep_source: self.keep_source,
                destroy: self.destroy_data.clone(),
                load: self.load.then_some(LoadOptions { seed, depth: self.depth, ..LoadOptions::default() }),
                settle: Duration::from_secs(self.settle),
            };
            verbs::migrate::migrate(kit, &self.source, &self.destination, &options, meter).await.map(Shown::Done)
        })
    }
}
