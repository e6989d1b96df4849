//! `windlass disk stat`: prints capacity, used and unshared bytes.

use super::Task;
use super::path::DiskPath;
use crate::host_kit::Shown;
use futures_util::future::LocalBoxFuture;
use virtual_disk::files::Work;
use virtual_disk::{DiskError, Kit, Location, Meter, verbs};

/// Print capacity, used and unshared bytes
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  windlass disk stat iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1\n  windlass disk stat iscsi://192.0.2.7/iqn.2026-01.org.example:t/0 -o json\n  windlass disk stat --extendedstat nfs://192.0.2.7/vms/a.img\n\nUsed are the blocks that hold what the disk shows, its own and those of disks below it; unshared are those that would be free without it.\nOf a whole logical unit, used is what it says is mapped; SCSI has no word for unshared.\nOf a file, used and unshared are the server's space_used and space_freed."
)]
pub(super) struct Stat {
    #[arg(help = "URL#NAME, URL for the whole logical unit, or nfs://HOST[:PORT]/SHARE/PATH")]
    pub(super) disk: DiskPath,
    /// vmkfstools' name for what this verb prints
    #[arg(long)]
    pub(super) extendedstat: bool,
}

impl Task for Stat {
    fn locations_mut(&mut self) -> Vec<&mut Location> {
        self.disk.location_mut().into_iter().collect()
    }

    fn file_work(&self) -> Result<Option<Work>, DiskError> {
        Ok(self.disk.file().map(|file| Work::Stat { file: file.clone() }))
    }

    fn run<'a>(&'a self, kit: &'a Kit, _meter: &'a Meter) -> LocalBoxFuture<'a, Result<Shown, DiskError>> {
        Box::pin(async {
            let done = verbs::stat::stat(kit, self.disk.location()?).await?;
            Ok(Shown::Text(done.words, done.json, 0))
        })
    }
}
