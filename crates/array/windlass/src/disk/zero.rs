//! `windlass disk zero`: zeroes a disk or a whole logical unit.

use super::Task;
use crate::host_kit::Shown;
use futures_util::future::LocalBoxFuture;
use virtual_disk::{DiskError, Kit, Location, Meter, verbs};

/// Zero a disk or a whole logical unit
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  windlass disk zero iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#scratch\n  windlass disk zero iscsi://192.0.2.7/iqn.2026-01.org.example:t/1 --destroy-data naa.61234…"
)]
pub(super) struct Zero {
    /// URL#NAME, or URL for the whole logical unit
    pub(super) disk: Location,
    /// Destroy the data on the whole logical unit with this name (naa.…)
    #[arg(long, value_name = "NAME")]
    pub(super) destroy_data: Option<String>,
}

impl Task for Zero {
    fn locations_mut(&mut self) -> Vec<&mut Location> {
        vec![&mut self.disk]
    }

    fn words(&self) -> String {
        format!("zeroing {}", self.disk)
    }

    fn run<'a>(&'a self, kit: &'a Kit, meter: &'a Meter) -> LocalBoxFuture<'a, Result<Shown, DiskError>> {
        Box::pin(async {
            verbs::zero::zero(kit, &self.disk, self.destroy_data.as_deref(), meter).await.map(Shown::Done)
        })
    }
}
