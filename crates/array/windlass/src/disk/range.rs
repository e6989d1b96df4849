//! `windlass disk reserve` and `punch`: space of a range of a file.

use super::{Task, parse_size};
use crate::host_kit::Shown;
use futures_util::future::LocalBoxFuture;
use nfs_client::url::Url;
use virtual_disk::files::{Range, Work};
use virtual_disk::{DiskError, Kit, Location, Meter};

#[derive(Debug, clap::Args)]
pub(super) struct FileRange {
    #[arg(help = "nfs://HOST[:PORT]/SHARE/PATH")]
    file: Url,
    /// First byte of the range
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "0")]
    offset: u64,
    /// Length of the range; by default up to the end of the file
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    length: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Verb {
    Reserve,
    Punch,
}

/// Work of a verb on a range.
pub(super) struct OnRange {
    verb: Verb,
    range: FileRange,
}

impl FileRange {
    pub(super) fn task(self, verb: Verb) -> OnRange {
        OnRange { verb, range: self }
    }
}

impl Task for OnRange {
    fn locations_mut(&mut self) -> Vec<&mut Location> {
        Vec::new()
    }

    fn file_work(&self) -> Result<Option<Work>, DiskError> {
        let FileRange { file, offset, length } = &self.range;
        let (file, range) = (file.clone(), Range { offset: *offset, length: *length });
        Ok(Some(match self.verb {
            Verb::Reserve => Work::Reserve { file, range },
            Verb::Punch => Work::Punch { file, range },
        }))
    }

    fn run<'a>(&'a self, _kit: &'a Kit, _meter: &'a Meter) -> LocalBoxFuture<'a, Result<Shown, DiskError>> {
        Box::pin(async { Err(DiskError::Usage("this is for files of a share".into())) })
    }
}
