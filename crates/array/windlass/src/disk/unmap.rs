//! `windlass disk unmap`: frees blocks of a disk or a whole logical unit.

use super::{Task, parse_size};
use crate::host_kit::Shown;
use futures_util::future::LocalBoxFuture;
use virtual_disk::{DiskError, Kit, Location, Meter, verbs};

/// Unmap a disk, a part of it, or a whole logical unit: its data is discarded, and the array
/// can reuse the space
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  windlass disk unmap iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#scratch\n  windlass disk unmap iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 --offset 1G --length 256M\n  windlass disk unmap iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 --zeros"
)]
pub(super) struct Unmap {
    /// URL#NAME, or URL for the whole logical unit
    pub(super) disk: Location,
    /// First byte of the range
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "length")]
    pub(super) offset: Option<u64>,
    /// Length of the range
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(super) length: Option<u64>,
    /// Unmap only those blocks of a thin disk that contain nothing but zeros; the host reads
    /// the disk to find them
    #[arg(long, conflicts_with_all = ["offset", "length", "destroy_data"])]
    pub(super) zeros: bool,
    /// Destroy the data on the whole logical unit with this name (naa.…)
    #[arg(long, value_name = "NAME")]
    pub(super) destroy_data: Option<String>,
}

impl Task for Unmap {
    fn locations_mut(&mut self) -> Vec<&mut Location> {
        vec![&mut self.disk]
    }

    fn words(&self) -> String {
        match self.zeros {
            true => format!("looking for zeros in {}", self.disk),
            false => format!("unmapping {}", self.disk),
        }
    }

    fn run<'a>(&'a self, kit: &'a Kit, meter: &'a Meter) -> LocalBoxFuture<'a, Result<Shown, DiskError>> {
        Box::pin(async {
            if self.zeros {
                return verbs::shape::punch_zeros(kit, &self.disk, meter).await.map(Shown::Done);
            }
            let range = self.length.map(|length| (self.offset.unwrap_or(0), length));
            verbs::zero::unmap(kit, &self.disk, range, self.destroy_data.as_deref(), meter).await.map(Shown::Done)
        })
    }
}
