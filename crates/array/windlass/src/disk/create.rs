//! `windlass disk create`: creates a disk on a datastore.

use super::path::DiskPath;
use super::{FormatName, Task, parse_size};
use crate::host_kit::Shown;
use futures_util::future::LocalBoxFuture;
use virtual_disk::files::Work;
use virtual_disk::{DiskError, Kit, Location, Meter, verbs};

/// Create a disk on a datastore, or as a file of a share
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  windlass disk create -d thin -c 10G iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1/disk\n  windlass disk create -d eagerzeroedthick -c 5G iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#ft -o json\n  windlass disk create -d thin -c 10G nfs://192.0.2.7/vms/a.img"
)]
pub(super) struct Create {
    /// Size of the disk
    #[arg(short = 'c', long, value_name = "SIZE", value_parser = parse_size)]
    pub(super) size: u64,
    /// Format of the disk
    #[arg(short = 'd', long = "format", value_name = "FORMAT", value_enum, default_value_t = FormatName::Zeroedthick)]
    pub(super) format: FormatName,
    #[arg(help = "URL#NAME, or nfs://HOST[:PORT]/SHARE/PATH")]
    pub(super) disk: DiskPath,
}

impl Task for Create {
    fn locations_mut(&mut self) -> Vec<&mut Location> {
        self.disk.location_mut().into_iter().collect()
    }

    fn file_work(&self) -> Result<Option<Work>, DiskError> {
        let (size, format) = (self.size, self.format.into());
        Ok(self.disk.file().map(|file| Work::Create { file: file.clone(), size, format }))
    }

    fn words(&self) -> String {
        format!("creating {}", self.disk)
    }

    fn run<'a>(&'a self, kit: &'a Kit, meter: &'a Meter) -> LocalBoxFuture<'a, Result<Shown, DiskError>> {
        Box::pin(async {
            verbs::create::create(kit, self.disk.location()?, self.format.into(), self.size, meter)
                .await
                .map(Shown::Done)
        })
    }
}
