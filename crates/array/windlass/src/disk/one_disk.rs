//! `windlass disk inflate`, `commit` and `delete`: verbs with one argument, a disk on a datastore.

use super::Task;
use crate::host_kit::Shown;
use futures_util::future::LocalBoxFuture;
use virtual_disk::{DiskError, Kit, Location, Meter, verbs};

#[derive(Debug, clap::Args)]
pub(super) struct Disk {
    /// URL#NAME
    disk: Location,
}

impl Disk {
    pub(super) fn task(self, verb: Verb) -> OneDisk {
        OneDisk { verb, disk: self.disk }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Verb {
    Inflate,
    Commit,
    Delete,
}

/// Work of a verb on one disk.
pub(super) struct OneDisk {
    pub(super) verb: Verb,
    pub(super) disk: Location,
}

impl Task for OneDisk {
    fn locations_mut(&mut self) -> Vec<&mut Location> {
        vec![&mut self.disk]
    }

    fn words(&self) -> String {
        match self.verb {
            Verb::Inflate => format!("inflating {}", self.disk),
            Verb::Commit => format!("committing {}", self.disk),
            Verb::Delete => String::new(),
        }
    }

    fn run<'a>(&'a self, kit: &'a Kit, meter: &'a Meter) -> LocalBoxFuture<'a, Result<Shown, DiskError>> {
        Box::pin(async move {
            let done = match self.verb {
                Verb::Inflate => verbs::shape::inflate(kit, &self.disk, meter).await,
                Verb::Commit => verbs::snapshot::commit(kit, &self.disk, meter).await,
                Verb::Delete => verbs::create::delete(kit, &self.disk).await,
            };
            done.map(Shown::Done)
        })
    }
}
