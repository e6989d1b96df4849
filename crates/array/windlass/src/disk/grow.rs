//! `windlass disk grow`: enlarges a disk.

use super::{Task, parse_size};
use crate::host_kit::Shown;
use futures_util::future::LocalBoxFuture;
use virtual_disk::{DiskError, Kit, Location, Meter, verbs};

/// Enlarge a disk
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  windlass disk grow iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 -c 20G")]
pub(super) struct Grow {
    /// URL#NAME
    pub(super) disk: Location,
    /// New size
    #[arg(short = 'c', long, value_name = "SIZE", value_parser = parse_size)]
    pub(super) size: u64,
}

impl Task for Grow {
    fn locations_mut(&mut self) -> Vec<&mut Location> {
        vec![&mut self.disk]
    }

    fn words(&self) -> String {
        format!("growing {}", self.disk)
    }

    fn run<'a>(&'a self, kit: &'a Kit, meter: &'a Meter) -> LocalBoxFuture<'a, Result<Shown, DiskError>> {
        Box::pin(async { verbs::shape::grow(kit, &self.disk, self.size, meter).await.map(Shown::Done) })
    }
}
