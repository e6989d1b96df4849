//! `windlass disk clone`: copies a disk or a whole logical unit.

use super::path::DiskPath;
use super::{FormatName, Task};
use crate::host_kit::Shown;
use futures_util::future::LocalBoxFuture;
use virtual_disk::files::Work;
use virtual_disk::verbs::clone::CloneOptions;
use virtual_disk::{DiskError, Kit, Location, Meter, verbs};

/// Copy a disk, a whole logical unit or a file of a share, in the array if possible
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  windlass disk clone -i iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#template iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 -d thin\n  windlass disk clone iscsi://192.0.2.7/iqn.2026-01.org.example:t/1 iscsi://192.0.2.8/iqn.2026-01.org.example:u/0 -N --destroy-data naa.61234…\n  windlass disk clone -i nfs://192.0.2.7/vms/template.img nfs://192.0.2.7/vms/a.img\n\nCtrl-C removes the partial copy; with --resume it is kept, and the same command continues it.\nData written to a whole logical unit since then is overwritten only if --destroy-data names the unit."
)]
pub(super) struct CloneDisk {
    /// Source of the copy
    #[arg(short = 'i', long, value_name = "SOURCE")]
    pub(super) source: Option<DiskPath>,
    #[arg(
        required = true,
        num_args = 1..=2,
        value_name = "PATH",
        help = "Source, unless -i names it, and destination: URL#NAME, URL for a whole logical unit, or nfs://HOST[:PORT]/SHARE/PATH"
    )]
    pub(super) paths: Vec<DiskPath>,
    /// Format of a new disk [default: zeroedthick; of a file, that of its source]
    #[arg(short = 'd', long = "format", value_name = "FORMAT", value_enum)]
    pub(super) format: Option<FormatName>,
    /// Let the host copy: READ and WRITE instead of EXTENDED COPY, CLONE or COPY
    #[arg(short = 'N', long)]
    pub(super) by_host: bool,
    /// Keep the partial copy when the copy is interrupted, and resume an interrupted copy
    #[arg(long)]
    pub(super) resume: bool,
    /// Destroy the data on the destination, the whole logical unit with this name (naa.…)
    #[arg(long, value_name = "NAME")]
    pub(super) destroy_data: Option<String>,
}

impl Task for CloneDisk {
    fn check(&mut self) -> Result<(), DiskError> {
        if let Some(source) = self.source.take() {
            self.paths.insert(0, source);
        }
        match self.paths.len() {
            2 => Ok(()),
            _ => {
                let words = "a clone has one source, given with -i or first, and one destination";
                Err(DiskError::Usage(words.into()))
            }
        }
    }

    fn locations_mut(&mut self) -> Vec<&mut Location> {
        self.paths.iter_mut().filter_map(DiskPath::location_mut).collect()
    }

    fn file_work(&self) -> Result<Option<Work>, DiskError> {
        let [from, to] = self.paths.as_slice() else { return Ok(None) };
        match (from.file(), to.file()) {
            (Some(_), Some(_)) if self.resume || self.destroy_data.is_some() => {
                let words = "--resume and --destroy-data are for disks on logical units";
                Err(DiskError::Usage(words.into()))
            }
            (Some(from), Some(to)) => {
                let (from, to, format) = (from.clone(), to.clone(), self.format.map(Into::into));
                Ok(Some(Work::Clone { from, to, format, by_host: self.by_host }))
            }
            (None, None) => Ok(None),
            _ => Err(DiskError::Usage("a clone is between files, or between disks on logical units".into())),
        }
    }

    fn by_host(&self) -> bool {
        self.by_host
    }

    fn words(&self) -> String {
        let paths: Vec<String> = self.paths.iter().map(ToString::to_string).collect();
        format!("cloning {}", paths.join(" → "))
    }

    fn run<'a>(&'a self, kit: &'a Kit, meter: &'a Meter) -> LocalBoxFuture<'a, Result<Shown, DiskError>> {
        Box::pin(async {
            let [from, to] = self.paths.as_slice() else { return Err(DiskError::Usage("two paths are needed".into())) };
            let (from, to) = (from.location()?, to.location()?);
            let (format, destroy) = (self.format.unwrap_or(FormatName::Zeroedthick).into(), self.destroy_data.clone());
            let options = CloneOptions { format, resume: self.resume, destroy };
            verbs::clone::clone(kit, from, to, &options, meter).await.map(Shown::Done)
        })
    }
}
