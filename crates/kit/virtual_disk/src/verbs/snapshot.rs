//! Disks over other disks: snapshots, commits and linked clones.

use super::Done;
use crate::error::DiskError;
use crate::kit::Kit;
use crate::location::Location;
use crate::progress::Meter;
use serde_json::json;

/// Snapshots a disk: it is frozen, and a new disk `name` on the same datastore takes later writes.
pub async fn snapshot(kit: &Kit, at: &Location, name: &str) -> Result<Done, DiskError> {
    let (store, base) = kit.on_datastore(at).await?;
    let failed = |error| DiskError::datastore(at, error);
    let disk = store.open(base).await.map_err(failed)?;
    match disk.snapshot(name).await {
        Ok(top) => top.close().await.map_err(failed)?,
        Err((disk, error)) => {
            disk.close().await.map_err(failed)?;
            return Err(failed(error));
        }
    }
    let top = Location { url: at.url.clone(), disk: Some(name.into()) };
    Ok(Done::new(
        format!("{at} is frozen; {top} takes later writes"),
        json!({ "disk": top.to_string(), "base": at.to_string() }),
    ))
}

/// Creates a linked clone: a disk that holds only its differences from `base`.
pub async fn linked_clone(kit: &Kit, base: &Location, name: &str) -> Result<Done, DiskError> {
    let (store, below) = kit.on_datastore(base).await?;
    let created = store.create_linked_clone(below, name).await;
    created.map_err(|error| DiskError::datastore(base, error))?;
    let clone = Location { url: base.url.clone(), disk: Some(name.into()) };
    Ok(Done::new(
        format!("{clone} is a linked clone of {base}"),
        json!({ "disk": clone.to_string(), "base": base.to_string() }),
    ))
}

/// Commits a disk into the one below it, and deletes it.
pub async fn commit(kit: &Kit, at: &Location, meter: &Meter) -> Result<Done, DiskError> {
    let (store, name) = kit.on_datastore(at).await?;
    let failed = |error| DiskError::datastore(at, error);
    let (file, space) = store.stat(name).await.map_err(failed)?;
    meter.total(space.unshared_bytes);
    let disk = store.open(name).await.map_err(failed)?;
    match disk.commit(&|bytes| meter.advance(bytes)).await {
        Ok(base) => base.close().await.map_err(failed)?,
        Err((disk, error)) => {
            disk.close().await.map_err(failed)?;
            return Err(match failed(error) {
                DiskError::Interrupted(_) => DiskError::Interrupted(format!(
                    "{at} is unchanged; a part of it is already committed to the disk below"
                )),
                error => error,
            });
        }
    }
    let base = Location { url: at.url.clone(), disk: file.parent };
    Ok(Done::new(
        format!("{at} was committed to {} and deleted", text::terminal::harmless(&base.to_string())),
        json!({ "disk": base.to_string(), "committed": at.to_string() }),
    ))
}
