//! Creating, renaming and deleting disks on a datastore.

use super::{Done, format_name};
use crate::error::DiskError;
use crate::kit::Kit;
use crate::location::Location;
use crate::progress::Meter;
use ::datastore::{DatastoreError, DiskFormat, DiskOptions};
use serde_json::json;

/// Creates a disk. After an interruption nothing of it is left.
pub async fn create(kit: &Kit, at: &Location, format: DiskFormat, size: u64, meter: &Meter) -> Result<Done, DiskError> {
    let (store, name) = kit.on_datastore(at).await?;
    if format == DiskFormat::EagerZeroedThick {
        meter.total(size);
    }
    let created = store.create_disk(name, DiskOptions { format, size }, &|bytes| meter.advance(bytes)).await;
    match created {
        Ok(()) => {}
        Err(error) => {
            return Err(match DiskError::datastore(at, error) {
                DiskError::Interrupted(_) => {
                    DiskError::Interrupted(format!("{at} was not created, and nothing of it remains"))
                }
                error => error,
            });
        }
    }
    let words = format!("created {at}: {} {}", text::size::format(size), format_name(format));
    Ok(Done::new(words, json!({ "disk": at.to_string(), "format": format_name(format), "capacity_bytes": size })))
}

/// Deletes a disk, and frees its blocks on the array.
pub async fn delete(kit: &Kit, at: &Location) -> Result<Done, DiskError> {
    let (store, name) = kit.on_datastore(at).await?;
    let deleted = match store.delete(name).await {
        // It may be an interrupted copy.
        Err(DatastoreError::NoSuchFile(name)) => match store.delete_partial(&name).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(DatastoreError::NoSuchFile(name)),
            Err(error) => Err(error),
        },
        deleted => deleted,
    };
    deleted.map_err(|error| DiskError::datastore(at, error))?;
    Ok(Done::new(format!("deleted {at}"), json!({ "disk": at.to_string() })))
}

/// Renames a disk on its datastore.
pub async fn rename(kit: &Kit, from: &Location, to: &str) -> Result<Done, DiskError> {
    let (store, name) = kit.on_datastore(from).await?;
    store.rename(name, to).await.map_err(|error| DiskError::datastore(from, error))?;
    let now = Location { url: from.url.clone(), disk: Some(to.into()) };
    Ok(Done::new(format!("renamed {from} to {to}"), json!({ "disk": now.to_string(), "was": from.to_string() })))
}
