//! What can be done with disks; one file a verb. Each says in a [`Done`] what came of it.

pub mod clone;
pub mod create;
pub mod datastore;
pub mod migrate;
pub mod shape;
pub mod snapshot;
pub mod stat;
pub mod zero;

use crate::endpoint::Endpoint;
use crate::error::DiskError;
use crate::kit::Kit;
use crate::location::Location;
use ::datastore::{DatastoreError, DiskFormat, VirtualDisk};
use data_mover::Device;
use initiator::LogicalUnit;
use serde_json::Value;

/// What came of a verb.
#[derive(Debug)]
pub struct Done {
    /// A sentence.
    pub words: String,
    /// More for programs: fields beside what was spent.
    pub json: Value,
    /// What could not be done although the rest was.
    pub failed: Option<DiskError>,
}

impl Done {
    pub(crate) fn new(words: impl Into<String>, json: Value) -> Self {
        Self { words: words.into(), json, failed: None }
    }
}

/// A format as vmkfstools names it.
pub fn format_name(format: DiskFormat) -> &'static str {
    match format {
        DiskFormat::Thin => "thin",
        DiskFormat::ZeroedThick => "zeroedthick",
        DiskFormat::EagerZeroedThick => "eagerzeroedthick",
        DiskFormat::Redo => "redo",
    }
}

/// Uses a disk that is open, and closes it whatever came of that.
pub(crate) async fn closing<D: Device, T>(
    disk: VirtualDisk<D>,
    work: impl AsyncFnOnce(&VirtualDisk<D>) -> Result<T, DatastoreError>,
) -> Result<T, DatastoreError> {
    let result = work(&disk).await;
    let closed = disk.close().await;
    let value = result?;
    closed?;
    Ok(value)
}

/// Opens the source of a copy: a disk that others are based on is only read.
pub(crate) async fn open_source(kit: &Kit, location: &Location) -> Result<Endpoint<LogicalUnit>, DiskError> {
    match &location.disk {
        Some(name) => {
            let store = kit.datastore(&location.url).await?;
            let disk = store.open_read(name).await.map_err(|error| DiskError::datastore(location, error))?;
            Ok(Endpoint::Disk(Box::new(disk)))
        }
        None => kit.whole_unit(&location.url).await,
    }
}

/// Closes it if it is a disk.
pub(crate) async fn close<D: Device>(endpoint: Endpoint<D>) -> Result<(), DatastoreError> {
    match endpoint {
        Endpoint::Disk(disk) => disk.close().await,
        Endpoint::Unit { .. } => Ok(()),
    }
}
