//! `windlass disk clone`: copies a disk or a whole logical unit.

use super::{FormatName, Task};
use crate::host_kit::Shown;
use futures_util::future::LocalBoxFuture;
use virtual_disk::verbs::clone::CloneOptions;
use virtual_disk::{DiskError, Kit, Location, Meter, verbs};

/// Copy a disk or a whole logical unit, in the array if possible
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  windlass disk clone -i iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#template iscsi://192.0.2.7/iqn.2026-01.org.example:t/0#vm1 -d thin\n  windlass disk clone iscsi://192.0.2.7/iqn.2026-01.org.example:t/1 iscsi://192.0.2.8/iqn.2026-01.org.example:u/0 -N --destroy-data naa.61234…\n\nCtrl-C removes the partial copy; with --resume it is kept, and the same command continues it.\nData written to a whole logical unit since then is overwritten only if --destroy-data names the unit."
)]
pub(super) struct CloneDisk {
    /// Source of the copy
    #[arg(short = 'i', long, value_name = "SOURCE")]
    pub(super) source: Option<Location>,
    /// Source, unless -i names it, and destination: URL#NAME, or URL for a whole logical unit
    #[arg(required = true, num_args = 1..=2, value_name = "PATH")]
    pub(super) paths: Vec<Location>,
    /// Format of a new disk
    #[arg(short = 'd', long = "format", value_name = "FORMAT", value_enum, default_value_t = FormatName::Zeroedthick)]
    pub(super) format: FormatName,
    /// Let the host copy: READ and WRITE instead of EXTENDED COPY
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
        self.paths.iter_mut().collect()
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
            let (format, destroy) = (self.format.into(), self.destroy_data.clone());
            let options = CloneOptions { format, resume: self.resume, destroy };
            verbs::clone::clone(kit, from, to, &options, meter).await.map(Shown::Done)
        })
    }
}
