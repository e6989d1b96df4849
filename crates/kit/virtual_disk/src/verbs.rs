//! Verbs: operations on disks, one file each. Each returns a [`Done`].

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

/// Result of a verb.
#[derive(Debug)]
pub struct Done {
    /// Result as a sentence.
    pub words: String,
    /// Fields for programs, beside the work done.
    pub json: Value,
    /// Error of a part that failed although the rest succeeded.
    pub failed: Option<DiskError>,
}

impl Done {
    pub(crate) fn new(words: impl Into<String>, json: Value) -> Self {
        Self { words: words.into(), json, failed: None }
    }
}

/// Name of a format as in vmkfstools.
pub fn format_name(format: DiskFormat) -> &'static str {
    match format {
        DiskFormat::Thin => "thin",
        DiskFormat::ZeroedThick => "zeroedthick",
        DiskFormat::EagerZeroedThick => "eagerzeroedthick",
        DiskFormat::Redo => "redo",
    }
}

/// Uses an open disk, and closes it even after an error.
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

/// Opens the source of a copy; a disk with children is opened for reading only.
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

/// Closes the endpoint if it is a disk.
pub(crate) async fn close<D: Device>(endpoint: Endpoint<D>) -> Result<(), DatastoreError> {
    match endpoint {
        Endpoint::Disk(disk) => disk.close().await,
        Endpoint::Unit { .. } => Ok(()),
    }
}
