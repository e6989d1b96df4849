//! `windlass disk rename`, `snapshot` and `linked-clone`: verbs with two arguments, a disk and a new
//! name on its datastore.

use super::Task;
use crate::host_kit::Shown;
use futures_util::future::LocalBoxFuture;
use virtual_disk::{DiskError, Kit, Location, Meter, verbs};

#[derive(Debug, clap::Args)]
pub(super) struct DiskAndName {
    /// URL#NAME
    disk: Location,
    /// New name
    name: String,
}

impl DiskAndName {
    pub(super) fn task(self, verb: Verb) -> NewName {
        NewName { verb, disk: self.disk, name: self.name }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Verb {
    Rename,
    Snapshot,
    LinkedClone,
}

/// Work of a verb on a disk and a new name.
pub(super) struct NewName {
    pub(super) verb: Verb,
    pub(super) disk: Location,
    /// Name alone or URL#NAME.
    pub(super) name: String,
}

impl Task for NewName {
    fn check(&mut self) -> Result<(), DiskError> {
        self.name = same_datastore(&self.disk, &self.name)?;
        Ok(())
    }

    fn locations_mut(&mut self) -> Vec<&mut Location> {
        vec![&mut self.disk]
    }

    fn run<'a>(&'a self, kit: &'a Kit, _meter: &'a Meter) -> LocalBoxFuture<'a, Result<Shown, DiskError>> {
        Box::pin(async move {
            let done = match self.verb {
                Verb::Rename => verbs::create::rename(kit, &self.disk, &self.name).await,
                Verb::Snapshot => verbs::snapshot::snapshot(kit, &self.disk, &self.name).await,
                Verb::LinkedClone => verbs::snapshot::linked_clone(kit, &self.disk, &self.name).await,
            };
            done.map(Shown::Done)
        })
    }
}

/// Returns the name in `text`, which is a name alone or URL#NAME with the URL of `beside`.
fn same_datastore(beside: &Location, text: &str) -> Result<String, DiskError> {
    if !text.starts_with("iscsi://") {
        return Ok(text.to_owned());
    }
    let given: Location = text.parse().map_err(|error| DiskError::Usage(format!("{error}")))?;
    match given.disk {
        Some(name) if given.url == beside.url => Ok(name),
        _ => Err(DiskError::Usage(format!("{text} is not on the datastore of {beside}; clone or migrate it"))),
    }
}
