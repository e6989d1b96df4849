//! `windlass disk stat`: prints capacity, used and unshared bytes.

use super::Task;
use crate::host_kit::Shown;
use futures_util::future::LocalBoxFuture;
use virtual_disk::{DiskError, Kit, Location, Meter, verbs};

/// Print capacity, used and unshared bytes
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  windlass disk stat iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1\n  windlass disk stat iscsi://192.0.2.7/iqn.2026-01.org.example:t/0 -o json\n\nUsed are the blocks that hold what the disk shows, its own and those of disks below it; unshared are those that would be free without it.\nOf a whole logical unit, used is what it says is mapped; SCSI has no word for unshared."
)]
pub(super) struct Stat {
    /// URL#NAME, or URL for the whole logical unit
    pub(super) disk: Location,
}

impl Task for Stat {
    fn locations_mut(&mut self) -> Vec<&mut Location> {
        vec![&mut self.disk]
    }

    fn run<'a>(&'a self, kit: &'a Kit, _meter: &'a Meter) -> LocalBoxFuture<'a, Result<Shown, DiskError>> {
        Box::pin(async {
            let done = verbs::stat::stat(kit, &self.disk).await?;
            Ok(Shown::Text(done.words, done.json, 0))
        })
    }
}
