//! Changing the size or format of an existing disk: growing, punching zeros, inflating.

use super::{Done, closing, format_name};
use crate::error::DiskError;
use crate::kit::Kit;
use crate::location::Location;
use crate::progress::Meter;
use serde_json::json;

/// Grows a disk; a thick one gets its blocks at once.
pub async fn grow(kit: &Kit, at: &Location, size: u64, meter: &Meter) -> Result<Done, DiskError> {
    let (store, name) = kit.on_datastore(at).await?;
    let failed = |error| DiskError::datastore(at, error);
    let disk = store.open(name).await.map_err(failed)?;
    let old = disk.size();
    meter.total(size.saturating_sub(old));
    let grown = closing(disk, async |disk| disk.grow(size, &|bytes| meter.advance(bytes)).await).await;
    let as_it_was = || format!("{at} is unchanged, {}", text::size::format(old));
    grown.map_err(|error| failed(error).when_interrupted(as_it_was))?;
    let words = format!("{at} grew from {} to {}", text::size::format(old), text::size::format(size));
    Ok(Done::new(words, json!({ "disk": at.to_string(), "capacity_bytes": size, "was_bytes": old })))
}

/// Frees blocks of a thin disk that hold only zeros (vmkfstools `-K`).
pub async fn punch_zeros(kit: &Kit, at: &Location, meter: &Meter) -> Result<Done, DiskError> {
    let (store, name) = kit.on_datastore(at).await?;
    let failed = |error| DiskError::datastore(at, error);
    let disk = store.open(name).await.map_err(failed)?;
    meter.total(disk.size());
    let freed = closing(disk, async |disk| disk.punch_zeros(&|bytes| meter.advance(bytes)).await).await;
    let in_part =
        || format!("the content of {at} is unchanged; some of its zeros were freed; repeat the command to continue");
    let freed = freed.map_err(|error| failed(error).when_interrupted(in_part))?;
    let words = format!("{} of zeros of {at} were freed on the datastore and the array", text::size::format(freed));
    Ok(Done::new(words, json!({ "disk": at.to_string(), "freed_bytes": freed })))
}

/// Allocates all blocks of a disk, zeroed where they are new (vmkfstools `-j` of a thin disk, `-k`
/// of a zeroed-thick one).
pub async fn inflate(kit: &Kit, at: &Location, meter: &Meter) -> Result<Done, DiskError> {
    let (store, name) = kit.on_datastore(at).await?;
    let failed = |error| DiskError::datastore(at, error);
    let disk = store.open(name).await.map_err(failed)?;
    meter.total(disk.size());
    let was = format_name(disk.format());
    let inflated = closing(disk, async |disk| disk.inflate(&|bytes| meter.advance(bytes)).await).await;
    let in_part = || {
        format!(
            "the content of {at} is unchanged and its format still {was}; it keeps the blocks allocated so far; repeat the command to continue"
        )
    };
    inflated.map_err(|error| failed(error).when_interrupted(in_part))?;
    let words = format!("{at} is eagerzeroedthick; it was {was}");
    Ok(Done::new(words, json!({ "disk": at.to_string(), "format": "eagerzeroedthick", "was": was })))
}
